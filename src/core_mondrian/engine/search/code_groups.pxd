from core_mondrian.engine.search.workspace cimport RecordBuffers, SearchWorkspace


cdef bint find_span(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t start, Py_ssize_t stop,
) noexcept nogil
cdef Py_ssize_t group_records(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t start, Py_ssize_t stop,
) noexcept nogil
cdef void count_positions(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t start, Py_ssize_t stop,
) noexcept nogil
cdef void sort_positions(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t start, Py_ssize_t stop,
) noexcept nogil
cdef void fill_buckets(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t start, Py_ssize_t stop, int shift,
) noexcept nogil
cdef void sort_buckets(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t top, Py_ssize_t start
) noexcept nogil
cdef void weigh_groups(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t n_groups
) noexcept nogil
cdef void order_by_rows(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t start,
    Py_ssize_t n_groups,
) noexcept nogil
cdef void load_pairs(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t other,
) noexcept nogil
cdef void load_own_codes(
    RecordBuffers buffers, SearchWorkspace workspace
) noexcept nogil
cdef void load_records(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t other
) noexcept nogil
cdef void load_joint_counts(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t other,
) noexcept nogil
cdef void describe_groups(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t other,
) noexcept nogil
cdef void box_groups(
    RecordBuffers buffers, SearchWorkspace workspace
) noexcept nogil
cdef void sum_groups(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cdef void bound_groups(
    SearchWorkspace workspace, Py_ssize_t n_groups
) noexcept nogil

from core_mondrian.engine.search.workspace cimport Block, SearchWorkspace


cdef void split_ties(Block block, SearchWorkspace workspace, int node) noexcept nogil
cdef int find_place(
    Block block, SearchWorkspace workspace, Py_ssize_t start, Py_ssize_t stop,
    long long rows,
) noexcept nogil
cdef void find_active(
    Block block, SearchWorkspace workspace, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cdef void running_losses(
    Block block, SearchWorkspace workspace, Py_ssize_t first, Py_ssize_t last,
    Py_ssize_t step, double[::1] losses,
) noexcept nogil
cdef bint is_new(
    SearchWorkspace workspace, Py_ssize_t column, int code
) noexcept nogil
cdef void forget_codes(
    Block block, SearchWorkspace workspace, Py_ssize_t column, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil
cdef void try_places(
    Block block, SearchWorkspace workspace, Py_ssize_t column, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil
cdef void try_place(
    SearchWorkspace workspace, double loss, long long taken, Py_ssize_t column
) noexcept nogil
cdef void count_here(
    SearchWorkspace workspace, const int* record, long long rows
) noexcept nogil
cdef void write_class(
    Block block, int node, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cdef Py_ssize_t cut_segment(
    Block block, SearchWorkspace workspace, Py_ssize_t depth, int column
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t) divide_records(
    Block block, Py_ssize_t start, Py_ssize_t stop, long long taken
) noexcept nogil

from core_mondrian.engine.search.workspace cimport RecordBuffers, SearchWorkspace

cdef double ROUNDING


cpdef int find_cuts(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t start,
    Py_ssize_t stop, long long rows, double beta,
) noexcept nogil
cpdef double open_partition(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t start,
    Py_ssize_t stop, long long rows, double beta,
) noexcept nogil
cpdef void note_gain(
    SearchWorkspace workspace, Py_ssize_t column, double whole
) noexcept nogil
cdef double sum_up(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cdef double sum_up_number(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t first, Py_ssize_t last,
) noexcept nogil
cdef void count_codes(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t first, Py_ssize_t last,
) noexcept nogil
cdef void find_cut_of(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cpdef void open_column(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cpdef bint has_second_order(
    SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cpdef void list_candidates(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column, bint by_rows
) noexcept nogil
cdef Py_ssize_t list_prefixes(SearchWorkspace workspace) noexcept nogil
cdef Py_ssize_t add_range(
    SearchWorkspace workspace, Py_ssize_t n, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef Py_ssize_t list_nodes(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cdef void score_candidates(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column, bint by_rows
) noexcept nogil
cpdef void add_losses(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cdef void add_box_losses(
    SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cdef void clear_side(
    RecordBuffers buffers, SearchWorkspace workspace, long long offset,
    Py_ssize_t first, Py_ssize_t last,
) noexcept nogil
cdef void add_count_losses(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cdef double standard_deviation(
    long long worth, long long levels, long long level_squares
) noexcept nogil
cdef void add_spread_losses(
    SearchWorkspace workspace, Py_ssize_t column
) noexcept nogil
cpdef void keep_best(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column, bint by_rows
) noexcept nogil
cdef bint is_cheaper(
    SearchWorkspace workspace, Py_ssize_t i, Py_ssize_t column, long long side
) noexcept nogil
cdef void count_side(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cpdef void forget_counts(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cdef bint is_ahead(
    SearchWorkspace workspace, Py_ssize_t column, Py_ssize_t best
) noexcept nogil

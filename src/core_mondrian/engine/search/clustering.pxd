from core_mondrian.engine.search.workspace cimport Block, SearchWorkspace, Sketch

cdef enum:
    _LISTED = 256
    _LISTED_PER_ROW = 4
    _SAMPLE = 2048
    _MOST_FAILURES = 100
    _HALF = 32


cdef void cluster_block(
    Block block, Sketch sketch, SearchWorkspace workspace, Py_ssize_t n, long long rows
) noexcept nogil
cdef void order_seeds(
    Block block, Sketch sketch, SearchWorkspace workspace, Py_ssize_t n
) noexcept nogil
cdef bint grow_cluster(
    Block block, Sketch sketch, SearchWorkspace workspace, Py_ssize_t seed,
    Py_ssize_t number,
) noexcept nogil
cdef long long add_member(
    Block block, Sketch sketch, SearchWorkspace workspace, Py_ssize_t i,
    Py_ssize_t number,
) noexcept nogil
cdef Py_ssize_t next_member(
    Block block, Sketch sketch, SearchWorkspace workspace, long long rows
) noexcept nogil
cdef Py_ssize_t narrowest(
    Block block, Sketch sketch, SearchWorkspace workspace, long long rows, bint last
) noexcept nogil
cdef bint admits_with(
    Block block, SearchWorkspace workspace, long long rows, Py_ssize_t i
) noexcept nogil
cdef void join_rest(Block block, Sketch sketch, Py_ssize_t n) noexcept nogil
cdef void write_clusters(
    Block block, Py_ssize_t n, long long rows, Py_ssize_t n_clusters
) noexcept nogil

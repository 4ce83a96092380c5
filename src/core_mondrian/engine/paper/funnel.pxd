from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef bint find_cut(
    FunnelWorkspace work, Py_ssize_t node, bint must_cut, long long attempt
) noexcept nogil
cdef void open_partition(
    FunnelWorkspace work, Py_ssize_t node, long long attempt
) noexcept nogil
cdef void propose(FunnelWorkspace work) noexcept nogil
cdef void examine(FunnelWorkspace work, long long most) noexcept nogil
cdef void count_sensitive(
    FunnelWorkspace work, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cdef bint needs_scores(
    FunnelWorkspace work, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef long long cheapest(
    FunnelWorkspace work, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef bint accept_best(FunnelWorkspace work, Py_ssize_t first) noexcept nogil
cdef bint accept_cheapest(FunnelWorkspace work) noexcept nogil
cdef bint accept(FunnelWorkspace work, Py_ssize_t first, bint waits) noexcept nogil
cdef Py_ssize_t keep_lossy(FunnelWorkspace work, Py_ssize_t first) noexcept nogil
cdef void sort_proposals(
    FunnelWorkspace work, Py_ssize_t first, bint by_loss
) noexcept nogil
cdef bint comes_first(
    FunnelWorkspace work, Py_ssize_t left, Py_ssize_t right, bint by_loss
) noexcept nogil
cdef void swap_proposals(
    FunnelWorkspace work, Py_ssize_t left, Py_ssize_t right
) noexcept nogil

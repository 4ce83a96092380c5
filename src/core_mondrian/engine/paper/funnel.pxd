from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef bint find_cut(
    FunnelWorkspace work, Py_ssize_t node, long long attempt
) noexcept nogil
cdef void open_partition(
    FunnelWorkspace work, Py_ssize_t node, long long attempt
) noexcept nogil
cdef long long spendable_rows(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef void examine(FunnelWorkspace work) noexcept nogil
cdef void count_sensitive(
    FunnelWorkspace work, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cdef bint accept_best(FunnelWorkspace work) noexcept nogil
cdef void sort_proposals(FunnelWorkspace work) noexcept nogil
cdef bint comes_first(
    FunnelWorkspace work, Py_ssize_t left, Py_ssize_t right
) noexcept nogil
cdef void swap_proposals(
    FunnelWorkspace work, Py_ssize_t left, Py_ssize_t right
) noexcept nogil

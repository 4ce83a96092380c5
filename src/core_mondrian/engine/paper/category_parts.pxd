from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef void propose_categories(FunnelWorkspace work) noexcept nogil
cdef void propose_whole_children(FunnelWorkspace work) noexcept nogil
cdef void form_parts(FunnelWorkspace work) noexcept nogil
cdef void form_proposed_parts(
    FunnelWorkspace work, Py_ssize_t proposal
) noexcept nogil
cdef void split_by_children(FunnelWorkspace work) noexcept nogil
cdef Py_ssize_t find_part(FunnelWorkspace work, int code) noexcept nogil
cdef long long pool_rows(FunnelWorkspace work) noexcept nogil
cdef Py_ssize_t n_surviving(FunnelWorkspace work) noexcept nogil
cdef bint top_up_pool(FunnelWorkspace work) noexcept nogil
cdef Py_ssize_t smallest_part(FunnelWorkspace work) noexcept nogil
cdef void add_to_pool(FunnelWorkspace work, Py_ssize_t part) noexcept nogil

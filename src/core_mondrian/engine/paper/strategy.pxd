from core_mondrian.engine.paper.workspace cimport FunnelWorkspace, Strategy

cdef void take_paper(Strategy strategy)
cdef void take_original(Strategy strategy, bint is_as_published)
cdef bint accept_always(FunnelWorkspace work, Py_ssize_t number) noexcept nogil
cdef object take_own(Strategy strategy, object policy, object columns)
cdef void* address_of(object hook)

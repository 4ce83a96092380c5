from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef bint is_worth_cutting(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef bint is_unsolved(FunnelWorkspace work, Py_ssize_t child) noexcept nogil
cdef long long queue_children(
    FunnelWorkspace work, Py_ssize_t node, long long left
) noexcept nogil
cdef Py_ssize_t next_child(FunnelWorkspace work, Py_ssize_t top) noexcept nogil
cdef void spend(FunnelWorkspace work, Py_ssize_t top, long long rows) noexcept nogil
cdef bint is_overrun(FunnelWorkspace work, Py_ssize_t top) noexcept nogil
cdef void backtrack(FunnelWorkspace work, Py_ssize_t top) noexcept nogil

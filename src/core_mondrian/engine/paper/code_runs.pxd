from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef enum:
    _BLOCK = 512

cdef void find_box(
    FunnelWorkspace work, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cdef void find_runs(FunnelWorkspace work, bint by_position) noexcept nogil
cdef void sort_codes(FunnelWorkspace work) noexcept nogil
cdef void sort_positions(FunnelWorkspace work) noexcept nogil
cdef void runs_by_counting(FunnelWorkspace work) noexcept nogil

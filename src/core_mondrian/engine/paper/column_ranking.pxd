from core_mondrian.engine.columns cimport ColumnViews
from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef Py_ssize_t rank_choices(FunnelWorkspace work) noexcept nogil
cdef void rank_by_rilm(FunnelWorkspace work) noexcept nogil
cdef void rank_by_width(FunnelWorkspace work) noexcept nogil
cdef void rank_widest(FunnelWorkspace work) noexcept nogil
cdef void insert_choice(
    FunnelWorkspace work, Py_ssize_t n, Py_ssize_t column, double score
) noexcept nogil
cdef double rilm(
    ColumnViews columns, Py_ssize_t column, int low, int high
) noexcept nogil
cdef double normalized_width(
    ColumnViews columns, Py_ssize_t column, int low, int high
) noexcept nogil

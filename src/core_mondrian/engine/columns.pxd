from core_mondrian.engine.layout cimport Column, HierarchyNode


cdef class ColumnViews:
    cdef Column[::1] info
    cdef double[::1] values
    cdef double[:, :, ::1] domains
    cdef HierarchyNode[::1] nodes


cdef long long common_ancestor(
    ColumnViews columns, Py_ssize_t column, long long low, long long high
) noexcept nogil
cdef long long child_with(
    ColumnViews columns, Py_ssize_t column, long long node, long long code
) noexcept nogil
cdef bint is_blank(
    ColumnViews columns, Py_ssize_t column, long long low, long long high
) noexcept nogil

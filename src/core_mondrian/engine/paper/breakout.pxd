from core_mondrian.engine.columns cimport ColumnViews

cdef bint is_good_enough(
    ColumnViews columns, Py_ssize_t column, double score
) noexcept nogil

from core_mondrian.engine.columns cimport ColumnViews

cpdef void find_boxes(
    object tuples, const long long[:] starts, const long long[:] stops,
    int[:, ::1] low, int[:, ::1] high,
)
cdef void find_box(
    int[:, ::1] records, Py_ssize_t start, Py_ssize_t stop, int[:, ::1] low,
    int[:, ::1] high, Py_ssize_t leaf,
) noexcept nogil
cpdef void find_medians(
    object tuples, Py_ssize_t column, const long long[:] starts,
    const long long[:] stops, int[::1] medians,
)
cdef int lower_median(
    int[:, ::1] records, long long[::1] keys, Py_ssize_t column, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil
cpdef void find_nodes(
    object columns, Py_ssize_t column, const int[:] low, const int[:] high,
    int[::1] nodes,
)

cdef class RowParts:
    cdef const unsigned long long[:, ::1] words
    cdef unsigned long long[:, ::1] moved
    cdef int[::1] row_of
    cdef int[::1] part_of_digit
    cdef int shift


cdef void count_rows(
    RowParts parts, Py_ssize_t first, Py_ssize_t last, long long[::1] counts
) noexcept nogil
cdef void move_rows(
    RowParts parts, Py_ssize_t first, Py_ssize_t last, long long[::1] places
) noexcept nogil

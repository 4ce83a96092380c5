cdef void sort_short(
    long long* keys, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t) divide(
    long long* keys, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef void sort_keys(
    long long* keys, Py_ssize_t first, Py_ssize_t last
) noexcept nogil

cdef class RowGroups:
    cdef const unsigned long long[:, ::1] words
    cdef int[::1] slots
    cdef int[::1] firsts
    cdef readonly Py_ssize_t n_groups


cdef unsigned long long mixed(
    const unsigned long long[:, ::1] words, Py_ssize_t row
) noexcept nogil
cdef bint is_equal(
    const unsigned long long[:, ::1] words, Py_ssize_t left,
    const unsigned long long[:, ::1] others, Py_ssize_t right,
) noexcept nogil
cdef int find_or_add(RowGroups groups, Py_ssize_t row) noexcept nogil
cdef Py_ssize_t number_until_full(
    RowGroups groups, int[::1] group, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef Py_ssize_t absorb_until_full(
    RowGroups groups, RowGroups other, int[::1] numbers, Py_ssize_t first
) noexcept nogil
cdef bint move_by_digit(
    const unsigned long long[:, ::1] words, const int[::1] order, int[::1] moved,
    Py_ssize_t word, int shift, long long[::1] places,
) noexcept nogil
cdef void insert_groups(RowGroups groups) noexcept nogil

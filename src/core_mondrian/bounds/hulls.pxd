from core_mondrian.bounds.tuples cimport TupleTree


cdef class NearLists:
    cdef const int[::1] numbers
    cdef const double[::1] losses
    cdef const long long[::1] edges
    cdef readonly Py_ssize_t longest


cdef class HullSearch:
    cdef TupleTree tree
    cdef long long least
    cdef readonly object price_array
    cdef readonly object raise_array
    cdef readonly object frozen_array
    cdef readonly object witness_array
    cdef readonly object witness_loss_array
    # By tuple.
    cdef const long long[::1] rows
    cdef double[::1] prices
    cdef const long long[::1] ranks
    cdef double[::1] raises
    cdef unsigned char[::1] is_frozen
    cdef int[:, ::1] witness
    cdef double[::1] witness_loss
    # By place.
    cdef Py_ssize_t n_candidates
    cdef long long[::1] keys
    cdef int[::1] numbers
    cdef long long[::1] n_rows
    cdef double[::1] star
    # The stack of hulls.
    cdef int[:, ::1] low
    cdef int[:, ::1] high
    cdef double[:, ::1] losses
    cdef long long[:, ::1] values
    cdef double[::1] loss
    cdef long long[:, ::1] frames
    cdef int[::1] places
    cdef double[::1] place_loss
    cdef double[::1] fresh
    cdef bint lowers_all
    cdef bint is_cut_short
    cdef long long most_hulls
    cdef long long hulls_left
    cdef readonly long long n_hulls


cpdef bint find_cheapest(HullSearch search, NearLists near, Py_ssize_t anchor)
cpdef Py_ssize_t lower_raises(HullSearch search, NearLists near)
cdef double _TRIFLE
cdef long long _MOST_HULLS, _FEWEST_HULLS
cdef void start_greedily(HullSearch search) noexcept nogil
cdef bint has_free(HullSearch search, NearLists near, Py_ssize_t i) noexcept nogil
cdef void load(
    HullSearch search, NearLists near, Py_ssize_t anchor, Py_ssize_t i
) noexcept nogil
cdef void weigh_stars(HullSearch search) noexcept nogil
cdef void open_anchor(HullSearch search) noexcept nogil
cdef void set_frame(
    HullSearch search, Py_ssize_t depth, Py_ssize_t first, Py_ssize_t members,
    Py_ssize_t last, Py_ssize_t passed,
) noexcept nogil
cdef void add_values(
    HullSearch search, Py_ssize_t depth, Py_ssize_t place
) noexcept nogil
cdef bint has_value(
    HullSearch search, Py_ssize_t depth, Py_ssize_t column, int code
) noexcept nogil
cdef double loss_with(
    HullSearch search, Py_ssize_t depth, Py_ssize_t place, double limit
) noexcept nogil
cdef double column_loss_with(
    HullSearch search, Py_ssize_t depth, Py_ssize_t column, Py_ssize_t number
) noexcept nogil
cdef void weigh_hull(HullSearch search, Py_ssize_t depth) noexcept nogil
cdef bint has_enough(
    HullSearch search, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef void lower_raise(
    HullSearch search, Py_ssize_t depth, Py_ssize_t i, double more
) noexcept nogil
cdef double limit_of(
    HullSearch search, Py_ssize_t depth, Py_ssize_t last
) noexcept nogil
cdef void search_hull(HullSearch search, Py_ssize_t depth) noexcept nogil
cdef double close_in(HullSearch search, Py_ssize_t depth) noexcept nogil
cdef bint push_hull(
    HullSearch search, Py_ssize_t depth, Py_ssize_t i, double limit
) noexcept nogil
cdef void extend(
    HullSearch search, Py_ssize_t depth, Py_ssize_t top, Py_ssize_t place
) noexcept nogil
cdef void divide_candidates(
    HullSearch search, Py_ssize_t depth, Py_ssize_t i, double limit
) noexcept nogil
cdef Py_ssize_t merge_members(
    HullSearch search, Py_ssize_t depth, Py_ssize_t i
) noexcept nogil

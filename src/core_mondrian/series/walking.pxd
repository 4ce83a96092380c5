ctypedef struct Step:
    int column
    int is_number
    int blank
    int cut
    int left
    int right
    int missing
    int named
    int covered

ctypedef struct LeafRange:
    int first
    int last
    int child


cdef class TreeWalk:
    cdef const Step[::1] nodes
    cdef const LeafRange[::1] named
    cdef const LeafRange[::1] covered


cpdef void find_stops(TreeWalk walk, const int[:, :] codes, long long[::1] stops)
cdef int child_of(TreeWalk walk, Py_ssize_t node, int code) noexcept nogil
cdef int named_child(TreeWalk walk, Py_ssize_t node, int code) noexcept nogil
cdef int covered_child(TreeWalk walk, Py_ssize_t node, int code) noexcept nogil

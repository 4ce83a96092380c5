from core_mondrian.bounds.tuples cimport NearTuples, TupleTree


cpdef Py_ssize_t find_nearest(TupleTree tree, NearTuples near, Py_ssize_t anchor)
cdef void visit(
    TupleTree tree, NearTuples near, Py_ssize_t anchor, Py_ssize_t node
) noexcept nogil
cdef void visit_leaf(
    TupleTree tree, NearTuples near, Py_ssize_t anchor, Py_ssize_t node
) noexcept nogil
cdef double pair_loss(
    TupleTree tree, NearTuples near, Py_ssize_t anchor, Py_ssize_t i
) noexcept nogil
cdef double column_loss(
    TupleTree tree, Py_ssize_t column, long long low, long long high
) noexcept nogil
cdef double box_distance(
    TupleTree tree, Py_ssize_t anchor, Py_ssize_t node
) noexcept nogil
cdef void keep(NearTuples near, int i, double loss) noexcept nogil
cdef void sift_up(NearTuples near, Py_ssize_t place, int i, double loss) noexcept nogil
cdef void sift_down(NearTuples near, int i, double loss) noexcept nogil

from core_mondrian.engine.layout cimport Node

cdef void add_node(
    Node* node, int number, int parent, Py_ssize_t start, Py_ssize_t stop,
    long long rows,
) noexcept nogil
cpdef void fill_records(
    const int[:, :] codes, const long long[:] counts, const long long[:] order,
    int[:, ::1] records,
)
cpdef void number_fragments(
    int[:, ::1] records, long long[::1] places, long long[::1] rows
)
cpdef void graft_blocks(
    const Node[::1] grown, const long long[:, :] edges, const long long[:] leaves,
    Node[::1] tree, Py_ssize_t first, Py_ssize_t first_record,
)
cpdef void level_order(
    Node[::1] nodes, Py_ssize_t n_roots, int[::1] order, long long[:, ::1] table
)

from core_mondrian.engine.layout cimport Node
from core_mondrian.engine.search.workspace cimport (
    Block, RecordBuffers, SearchWorkspace,
)

cdef enum:
    _MOST_TRIALS = 64


cdef Py_ssize_t split_records(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t start, Py_ssize_t stop,
) noexcept nogil
cdef void mark_left(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t n_groups,
) noexcept nogil
cdef Py_ssize_t move_marked(
    RecordBuffers buffers, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil
cpdef double weight_of_impurity(
    SearchWorkspace workspace, long long rows, double beta
) noexcept nogil
cdef Py_ssize_t push(
    Block block, Py_ssize_t depth, Py_ssize_t start, Py_ssize_t stop, long long rows,
    int node,
) noexcept nogil
cdef double greedy_loss(
    Block block, SearchWorkspace workspace, Py_ssize_t depth, Py_ssize_t floor,
    double limit,
) noexcept nogil
cdef int next_plan(Block block, Py_ssize_t n_columns) noexcept nogil
cdef int try_cuts(
    Block block, SearchWorkspace workspace, Py_ssize_t start, Py_ssize_t stop,
    long long rows, Py_ssize_t depth,
) noexcept nogil
cdef void count_columns(SearchWorkspace workspace) noexcept nogil
cdef void count_choice(SearchWorkspace workspace, Py_ssize_t best) noexcept nogil
cdef void bound_side(
    RecordBuffers buffers, Node* node, Py_ssize_t column, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil
cdef Py_ssize_t cut_node(
    RecordBuffers buffers, SearchWorkspace workspace, Node[::1] nodes, int node,
    int n_nodes, int column,
) noexcept nogil
cdef void grow_block(
    Block block, SearchWorkspace workspace, Py_ssize_t n_records, long long all_rows
) noexcept nogil

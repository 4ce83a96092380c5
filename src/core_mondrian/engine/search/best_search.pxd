from core_mondrian.engine.layout cimport Node
from core_mondrian.engine.search.workspace cimport (
    Block, ClassSet, RecordBuffers, SearchWorkspace, SolvedBlocks,
)


cdef class SearchSettings:
    cdef double beta
    cdef long long block_rows
    cdef bint rolls_out
    cdef bint relaxes
    cdef Py_ssize_t width
    cdef Py_ssize_t passes
    cdef long long sweeps
    cdef bint clusters


cpdef int cut_to_blocks(
    RecordBuffers buffers, SearchWorkspace workspace, SearchSettings search,
    Node[::1] nodes, int[::1] queue, long long ship_above,
)
cpdef void solve_blocks(
    RecordBuffers buffers, SearchWorkspace workspace, SearchSettings search,
    Block block, ClassSet pool, SolvedBlocks solved,
)
cpdef void score_columns(
    RecordBuffers buffers, SearchWorkspace workspace, SearchSettings search,
    Node[::1] nodes, Py_ssize_t node,
)
cpdef void cut_chosen(
    RecordBuffers buffers, SearchWorkspace workspace, Node[::1] nodes,
    Py_ssize_t node, Py_ssize_t n_nodes, Py_ssize_t column,
)
cpdef int choose_scored(SearchWorkspace workspace)
cdef int choose_cut(
    RecordBuffers buffers, SearchWorkspace workspace, Node* node, double beta
) noexcept nogil
cdef void note_choice(SearchWorkspace workspace, int best) noexcept nogil
cdef int best_scored(SearchWorkspace workspace) noexcept nogil
cdef bint is_block(
    SearchWorkspace workspace, SearchSettings search, Node* node
) noexcept nogil
cdef void load_span(
    RecordBuffers buffers, SolvedBlocks solved, Block block, Py_ssize_t number
) noexcept nogil
cdef void solve_span(
    SearchWorkspace workspace, SearchSettings search, SolvedBlocks solved,
    Block block, ClassSet pool, Py_ssize_t number,
) noexcept nogil
cdef void divide_span(
    SearchWorkspace workspace, SearchSettings search, SolvedBlocks solved,
    Block block, ClassSet pool, Py_ssize_t number,
) noexcept nogil
cdef void write_suppressed(
    RecordBuffers buffers, SolvedBlocks solved, Py_ssize_t number
) noexcept nogil
cdef void write_tree(Block block, SolvedBlocks solved) noexcept nogil
cdef void write_node(
    Block block, SolvedBlocks solved, Py_ssize_t node
) noexcept nogil
cdef void write_classes(
    ClassSet pool, Block block, SolvedBlocks solved, long long rows
) noexcept nogil

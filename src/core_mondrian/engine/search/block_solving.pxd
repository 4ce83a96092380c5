from core_mondrian.engine.search.workspace cimport Block, SearchWorkspace


cdef void solve_block(
    Block block, SearchWorkspace workspace, Py_ssize_t n, long long rows
) noexcept nogil

from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

# After this many abandoned cuts a partition is closed as it is: each attempt solves
# everything below again, and forced backtracking was measured at 20 times the cost.
cdef enum:
    MAX_ATTEMPTS = 8

cpdef object cut_partition(FunnelWorkspace work, object root, long long ship_above)
cdef object check_hooks(FunnelWorkspace work)
cpdef object cut_once(FunnelWorkspace work, object root)
cdef void cut_below(FunnelWorkspace work, long long ship_above) noexcept nogil
cdef void cut_inline(FunnelWorkspace work, Py_ssize_t root) noexcept nogil
cdef void open_frame(
    FunnelWorkspace work, Py_ssize_t depth, Py_ssize_t node
) noexcept nogil
cdef bint cut_node(FunnelWorkspace work, Py_ssize_t top) noexcept nogil
cdef bint may_cut(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef void cut_root(FunnelWorkspace work) noexcept nogil
cdef void apply_cut(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef long long close_node(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef bint is_released(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef void add_child(
    FunnelWorkspace work, Py_ssize_t parent, Py_ssize_t start, Py_ssize_t stop,
    long long rows,
) noexcept nogil
cdef void split_number(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef void mark_open_sides(FunnelWorkspace work, Py_ssize_t first) noexcept nogil
cdef void split_category(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef Py_ssize_t add_part_children(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef void take_turns(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef void enqueue(FunnelWorkspace work, Py_ssize_t node) noexcept nogil

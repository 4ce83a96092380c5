from core_mondrian.engine.layout cimport (
    Aim, AimNode, Candidate, Found, Group, Near, Node, PooledClass, Segment, Side, Total,
)
from core_mondrian.engine.model_rules cimport Rules, SetCounts


cdef class ObjectiveViews:
    cdef Aim[::1] info
    cdef double[::1] positions
    cdef long long[::1] levels
    cdef double[::1] shares
    cdef AimNode[::1] nodes
    cdef const int[::1] worth
    cdef bint has_worth
    cdef Py_ssize_t n_columns


cdef class RecordBuffers:
    cdef readonly object array
    cdef Py_ssize_t rows_at
    cdef int[:, ::1] records
    cdef int[:, ::1] spare
    cdef long long[::1] keys
    cdef long long[::1] ranks
    cdef int[::1] codes
    cdef int[::1] worth


cdef class SearchWorkspace:
    cdef readonly object funnel
    cdef readonly object found_array
    cdef readonly object totals_array
    cdef readonly object active_array
    cdef readonly object group_array
    cdef readonly object level_array
    cdef readonly object square_array
    cdef ObjectiveViews objective
    cdef Rules rules
    cdef Py_ssize_t n_columns
    cdef Total[::1] totals
    cdef int[::1] active
    cdef int[::1] wanted
    cdef Found[::1] found
    cdef long long[::1] histogram
    cdef long long[::1] joint
    cdef long long[::1] counts
    cdef long long[::1] side
    cdef Group[::1] groups
    cdef Group[::1] ordered
    cdef Candidate[::1] candidates
    cdef long long[::1] levels
    cdef long long[::1] squares
    cdef SetCounts all_counts
    cdef SetCounts side_counts
    cdef SetCounts rest_counts
    cdef long long[:, ::1] counters
    # The partition whose cuts are looked for; written by `find_cuts` and `find_place`
    # only, neither of which runs inside the other or itself.
    cdef long long rows
    cdef long long worth
    cdef double beta
    cdef readonly Py_ssize_t n_active
    # And its column that is cut: where its records are, its groups, its candidates.
    cdef Py_ssize_t start
    cdef Py_ssize_t stop
    cdef readonly Py_ssize_t n_groups
    cdef Py_ssize_t last_candidate


cdef class Block:
    cdef RecordBuffers main
    cdef RecordBuffers trial
    cdef int[:, ::1] out
    cdef Node[::1] nodes
    cdef Segment[::1] stack
    cdef Found[::1] plans
    cdef double[::1] before
    cdef double[::1] after
    cdef Py_ssize_t room
    cdef Py_ssize_t pool_room
    # How it is solved.
    cdef double beta
    cdef bint tries_cuts
    cdef bint splits_ties
    cdef bint counts_funnel
    # How far it is solved.
    cdef bint has_classes
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t n_records


cdef class Sketch:
    cdef int[::1] columns
    cdef int[::1] offsets
    cdef short[::1] table
    cdef short[::1] caps
    cdef short[:, ::1] places
    cdef short[::1] low
    cdef short[::1] high
    cdef int[::1] left
    cdef int[::1] where
    cdef int[::1] near
    cdef int[::1] far
    cdef Py_ssize_t n_lanes
    cdef Py_ssize_t n_listed
    cdef Py_ssize_t n_left


cdef class ClassSet:
    cdef Sketch sketch
    cdef bint has_sketch
    cdef bint is_quick
    cdef int[:, ::1] records
    cdef int[::1] next
    cdef PooledClass[::1] classes
    cdef int[:, ::1] low
    cdef int[:, ::1] high
    cdef double[:, ::1] losses
    cdef long long[:, ::1] bits
    cdef Near[::1] near
    cdef Near[::1] lists
    cdef Side[::1] sides
    cdef Side[::1] gifts
    cdef int[::1] tuple_of
    cdef int[::1] owner
    cdef int[::1] after
    cdef int[::1] prior
    cdef int[::1] of
    cdef int[::1] n_of
    cdef int[::1] heads
    cdef int[::1] chain
    cdef int[::1] alike
    cdef double[::1] alike_loss
    cdef int[::1] members
    cdef int[::1] vacant
    cdef int[:, ::1] kept_records
    cdef int[::1] kept_next
    cdef PooledClass[::1] kept_classes
    cdef int kept_free
    cdef Py_ssize_t n_kept
    cdef Py_ssize_t n_tuples
    cdef Py_ssize_t n_vacant
    cdef Py_ssize_t n_gifts
    cdef double least
    cdef Py_ssize_t n_classes
    cdef int free
    cdef int clock
    cdef int since
    cdef long long lot


cdef class SolvedBlocks:
    cdef readonly object node_array
    cdef readonly object record_array
    cdef readonly object edge_array
    cdef const long long[:, ::1] spans
    cdef Node[::1] nodes
    cdef int[:, ::1] records
    cdef long long[:, ::1] edges
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t n_records

from core_mondrian.engine.columns cimport ColumnViews
from core_mondrian.engine.layout cimport (
    Box, Choice, Frame, Node, Part, Proposal, Run,
)
from core_mondrian.engine.model_rules cimport Rules, SetCounts


cdef class FunnelWorkspace

# What a strategy decides (§3.4); the engine does the rest.
ctypedef void (*RankColumns)(FunnelWorkspace work) noexcept nogil
ctypedef void (*ProposeCuts)(FunnelWorkspace work) noexcept nogil
ctypedef double (*ScoreCut)(FunnelWorkspace work, Py_ssize_t proposal) noexcept nogil
ctypedef bint (*AcceptCut)(FunnelWorkspace work, Py_ssize_t proposal) noexcept nogil
ctypedef bint (*ReleaseClass)(FunnelWorkspace work, Py_ssize_t node) noexcept nogil


cdef class Strategy:
    cdef RankColumns rank_columns
    cdef ProposeCuts propose_numbers
    cdef ProposeCuts propose_categories
    cdef ScoreCut score_number
    cdef ScoreCut score_category
    cdef AcceptCut accepts
    cdef ReleaseClass releases
    cdef readonly bint opens_parts
    cdef readonly bint may_lose
    cdef readonly bint asks_before_release
    cdef readonly object hooks
    # The user's functions, where they are, and what they are given.
    cdef RankColumns base_ranks
    cdef ProposeCuts base_cuts
    cdef void* own_ranks
    cdef void* own_cuts
    cdef void* own_scores
    cdef void* own_acceptance
    cdef void* own_release
    cdef double[::1] parameters
    cdef readonly Py_ssize_t n_parameters


cdef class FunnelWorkspace:
    # The table: what all threads share. A partition is a slice of the records.
    cdef int[:, ::1] records
    cdef int[:, ::1] spare
    cdef long long[::1] keys
    cdef Run[::1] runs
    cdef Part[::1] parts
    cdef ColumnViews columns
    cdef Rules rules
    cdef readonly Strategy strategy
    # The policy, in rows.
    cdef double epsilon
    cdef long long compete_rows
    cdef bint use_median
    cdef bint use_bin_edges
    cdef bint use_lossless
    cdef bint spends_inline
    cdef long long bin_rows
    cdef long long max_edges
    cdef long long min_bin_values
    cdef long long inline_below
    # Scratch of one thread.
    cdef readonly object funnel
    cdef readonly Py_ssize_t n_columns
    cdef Py_ssize_t rows_at
    cdef Box[::1] box
    cdef double[::1] ranks
    cdef Choice[::1] choices
    cdef Proposal[::1] proposals
    cdef Proposal[::1] chosen
    cdef long long[::1] histogram
    cdef SetCounts side
    cdef SetCounts pool
    cdef SetCounts whole
    cdef long long[:, ::1] counters
    cdef readonly long long n_faults
    # What a user's strategy sees.
    cdef double[::1] rilms
    cdef int[::1] lows
    cdef int[::1] highs
    cdef int[::1] codes
    cdef long long[::1] code_rows
    cdef long long[::1] marks
    cdef double[::1] code_values
    cdef double[::1] given
    # The partition that is looked at.
    cdef long long rows
    cdef readonly long long spendable
    cdef bint is_inline
    cdef long long attempt
    cdef long long n_accepted
    cdef Py_ssize_t n_proposals
    cdef long long n_examined
    cdef long long n_considered
    # One of its columns.
    cdef Py_ssize_t column
    cdef Py_ssize_t start
    cdef Py_ssize_t stop
    cdef Py_ssize_t n_runs
    cdef Py_ssize_t n_parts
    cdef bint has_topped_up
    # The tree that grows.
    cdef Node[::1] nodes
    cdef int[::1] queue
    cdef Frame[::1] stack
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t n_queued
    cdef bint starts_at_root


cdef void open_column(
    FunnelWorkspace work, Py_ssize_t column, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil

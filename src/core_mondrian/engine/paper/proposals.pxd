from core_mondrian.engine.model_rules cimport Rules, SetCounts
from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef double _MOST_BINS

cdef int judge_part(
    Rules rules, long long rows, SetCounts counts, bint may_stay_open
) noexcept nogil
cdef bint may_stay_open(FunnelWorkspace work) noexcept nogil
cdef void add_proposal(
    FunnelWorkspace work, long long at, int variant, long long loss
) noexcept nogil
cdef void propose_numbers(FunnelWorkspace work) noexcept nogil
cdef void propose_strict_median(FunnelWorkspace work) noexcept nogil
cdef void propose_lossless(FunnelWorkspace work) noexcept nogil
cdef bint has_bins(FunnelWorkspace work) noexcept nogil
cdef void propose_number_cut(
    FunnelWorkspace work, Py_ssize_t run, bint may_lose
) noexcept nogil
cdef void count_left_side(FunnelWorkspace work, long long rows) noexcept nogil
cdef Py_ssize_t median_run(FunnelWorkspace work) noexcept nogil
cdef void propose_bin_edges(FunnelWorkspace work) noexcept nogil
cdef long long n_histogram_bins(FunnelWorkspace work) noexcept nogil
cdef double value_of_run(FunnelWorkspace work, Py_ssize_t run) noexcept nogil
cdef double value_at(FunnelWorkspace work, double rank) noexcept nogil
cdef Py_ssize_t balanced_run(FunnelWorkspace work) noexcept nogil

from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

cdef void score_proposals(
    FunnelWorkspace work, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef double score_number(FunnelWorkspace work, Py_ssize_t proposal) noexcept nogil
cdef (double, long long) standard_deviation(
    FunnelWorkspace work, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef double score_category(FunnelWorkspace work, Py_ssize_t proposal) noexcept nogil
cdef double mode_deviation(long long mode, long long rows) noexcept nogil
cdef double relative_score(double after, double before) noexcept nogil

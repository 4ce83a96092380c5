from core_mondrian.engine.paper.workspace cimport FunnelWorkspace

# The user's functions, as they are compiled elsewhere.
ctypedef double (*PartitionHook)(
    long long rows, long long number, const int* low, const int* high,
    const double* rilm, double* rank, long long n_columns,
    const double* parameters, long long n_parameters,
) noexcept nogil
ctypedef double (*ColumnHook)(
    long long column, const int* codes, const long long* rows, long long* marks,
    long long n_codes, const double* values, long long n_values,
    const double* parameters, long long n_parameters,
) noexcept nogil
ctypedef double (*CutHook)(
    long long column, long long rows, long long loss, long long budget, double score,
    const double* parameters, long long n_parameters,
) noexcept nogil

cdef void rank_by_own(FunnelWorkspace work) noexcept nogil
cdef void propose_by_own(FunnelWorkspace work) noexcept nogil
cdef double score_number_by_own(
    FunnelWorkspace work, Py_ssize_t proposal
) noexcept nogil
cdef double score_category_by_own(
    FunnelWorkspace work, Py_ssize_t proposal
) noexcept nogil
cdef bint accept_by_own(FunnelWorkspace work, Py_ssize_t proposal) noexcept nogil
cdef bint release_by_own(FunnelWorkspace work, Py_ssize_t node) noexcept nogil
cdef double checked_score(FunnelWorkspace work) noexcept nogil
cdef double note_fault(FunnelWorkspace work, double result) noexcept nogil
cdef void lay_out_partition(FunnelWorkspace work) noexcept nogil
cdef void lay_out_runs(FunnelWorkspace work) noexcept nogil
cdef void lay_out_parameters(FunnelWorkspace work) noexcept nogil
cdef double ask_about_partition(
    FunnelWorkspace work, void* hook, long long number
) noexcept nogil
cdef double ask_about_column(FunnelWorkspace work, void* hook) noexcept nogil
cdef double ask_about_cut(FunnelWorkspace work, Py_ssize_t proposal) noexcept nogil

from core_mondrian.engine.search.workspace cimport (
    Block, ClassSet, ObjectiveViews, SearchWorkspace,
)

cdef enum:
    _N_ALIKE = 24
    _MOST_LISTED = 32
    _STAGES = 256
    _DISSOLVED = 2
    _SHARES = 1048576
    _MOST_GIFTS = 32
    _SWEEPS_PER_CLASS = 40
    _MOST_TUPLES = 32768

cdef long long _FIRST_LOT
cdef double _HEAT, _COOLING, _QUICK_HEAT, _QUICK_COOLING, _LN2


cdef bint improve(
    ClassSet pool, Block block, SearchWorkspace workspace, Py_ssize_t width,
    Py_ssize_t passes, long long sweeps,
) noexcept nogil
cdef bint anneal(
    ClassSet pool, SearchWorkspace workspace, long long sweeps
) noexcept nogil
cdef void bound_all(ClassSet pool, ObjectiveViews objective) noexcept nogil
cdef void cool(
    ClassSet pool, SearchWorkspace workspace, long long sweeps
) noexcept nogil
cdef double total_loss(ClassSet pool) noexcept nogil
cdef long long list_members(ClassSet pool) noexcept nogil
cdef void keep(ClassSet pool) noexcept nogil
cdef void restore(ClassSet pool, ObjectiveViews objective) noexcept nogil
cdef void number_tuples(ClassSet pool) noexcept nogil
cdef void find_alike(ClassSet pool, ObjectiveViews objective) noexcept nogil
cdef void find_close(ClassSet pool) noexcept nogil
cdef void list_companions(
    ClassSet pool, Py_ssize_t number, int tuple_number
) noexcept nogil
cdef void list_members_of(
    ClassSet pool, Py_ssize_t number, int tuple_number
) noexcept nogil
cdef void list_alike(
    ClassSet pool, Py_ssize_t first, int other, double loss
) noexcept nogil
cdef double loss_of_pair(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t i, Py_ssize_t j, double most
) noexcept nogil
cdef double lot_below(ClassSet pool, double heat) noexcept nogil
cdef bint change(
    ClassSet pool, SearchWorkspace workspace, long long n_members, double heat
) noexcept nogil
cdef int draw_alike(ClassSet pool, long long tuple_number) noexcept nogil
cdef void choose_sides(ClassSet pool, int a, int i, int b, int j) noexcept nogil
cdef bint exchange_if_cheap(
    ClassSet pool, SearchWorkspace workspace, double most
) noexcept nogil
cdef long long worth_of_rows(
    ClassSet pool, ObjectiveViews objective, int i, long long n
) noexcept nogil
cdef bint dissolve(
    ClassSet pool, SearchWorkspace workspace, int a, double most
) noexcept nogil
cdef void note_gift(
    ClassSet pool, Py_ssize_t number, int target, int i, long long n, long long worth
) noexcept nogil
cdef void take_back(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t n_gifts
) noexcept nogil
cdef int cheapest(
    ClassSet pool, SearchWorkspace workspace, int a, int i, double most
) noexcept nogil
cdef bint costs_less(
    ClassSet pool, SearchWorkspace workspace, int b, int i, long long n
) noexcept nogil
cdef bint found_class(
    ClassSet pool, SearchWorkspace workspace, long long tuple_number, double most
) noexcept nogil
cdef int open_class(ClassSet pool) noexcept nogil
cdef void collect(
    ClassSet pool, SearchWorkspace workspace, int a, long long tuple_number
) noexcept nogil
cdef void give_back(ClassSet pool, ObjectiveViews objective, int a) noexcept nogil
cdef bint rules_admit_class(
    ClassSet pool, SearchWorkspace workspace, Py_ssize_t number
) noexcept nogil

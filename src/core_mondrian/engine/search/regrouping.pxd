from core_mondrian.engine.search.workspace cimport (
    Block, ClassSet, ObjectiveViews, SearchWorkspace,
)

cdef enum:
    _FIRST_WIDTH = 5
    _FIRST_PASSES = 4
    _MOST_CLASSES = 4096
    _MOST_LISTED = 32

cdef long long _ODD_BITS, _ODD_PAIRS, _LOW_HALVES


cdef bint regroup(
    ClassSet pool, Block block, SearchWorkspace workspace, Py_ssize_t width,
    Py_ssize_t passes,
) noexcept nogil
cdef long long count_bits(long long word) noexcept nogil
cdef long long n_words(long long n_codes) noexcept nogil
cdef double set_loss(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t column, Py_ssize_t a,
    Py_ssize_t b,
) noexcept nogil
cdef bint has_value(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t column, Py_ssize_t number,
    int code,
) noexcept nogil
cdef double bound_class(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t number
) noexcept nogil
cdef void bound_values(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t column, Py_ssize_t number
) noexcept nogil
cdef long long n_values_of(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t column, Py_ssize_t a,
    Py_ssize_t b,
) noexcept nogil
cdef int nearest_code(
    ClassSet pool, Py_ssize_t column, Py_ssize_t number, int gone, int best
) noexcept nogil
cdef double set_loss_without(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t column, Py_ssize_t number,
    int gone,
) noexcept nogil
cdef long long n_values_without(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t column, Py_ssize_t number,
    int gone,
) noexcept nogil
cdef double union_loss(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t a, Py_ssize_t b, double most
) noexcept nogil
cdef double loss_without(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t number, int gone
) noexcept nogil
cdef double loss_with(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t number, Py_ssize_t new,
    double most,
) noexcept nogil
cdef void count_class(
    ClassSet pool, SearchWorkspace workspace, Py_ssize_t number
) noexcept nogil
cdef bint rules_admit_change(
    ClassSet pool, SearchWorkspace workspace, Py_ssize_t number, Py_ssize_t record,
    long long change,
) noexcept nogil
cdef int best_target(
    ClassSet pool, SearchWorkspace workspace, Py_ssize_t source, Py_ssize_t record,
    long long taken, double saved,
) noexcept nogil
cdef Py_ssize_t move_records(
    ClassSet pool, SearchWorkspace workspace
) noexcept nogil
cdef Py_ssize_t move_records_of(
    ClassSet pool, SearchWorkspace workspace, int a
) noexcept nogil
cdef int find_target(
    ClassSet pool, SearchWorkspace workspace, int a, int i, long long taken,
    long long less,
) noexcept nogil
cdef int take_out(
    ClassSet pool, int a, int i, int previous, long long taken
) noexcept nogil
cdef void put_into(
    ClassSet pool, SearchWorkspace workspace, int a, int target, int moved,
    long long less,
) noexcept nogil
cdef Py_ssize_t find_nearest(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t a, Py_ssize_t width
) noexcept nogil
cdef Py_ssize_t keep_listed(ClassSet pool, Py_ssize_t a) noexcept nogil
cdef void list_class(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t a, Py_ssize_t b,
    Py_ssize_t most,
) noexcept nogil
cdef Py_ssize_t gather(
    ClassSet pool, int[:, ::1] records, Py_ssize_t number, Py_ssize_t n
) noexcept nogil
cdef void fill_class(
    ClassSet pool, Block block, ObjectiveViews objective, Py_ssize_t number,
    Py_ssize_t node,
) noexcept nogil
cdef void empty_class(ClassSet pool, Py_ssize_t number) noexcept nogil
cdef double loss_of_leaves(Block block, SearchWorkspace workspace) noexcept nogil
cdef bint rules_admit_leaf(
    Block block, SearchWorkspace workspace, Py_ssize_t node
) noexcept nogil
cdef Py_ssize_t next_number(ClassSet pool) noexcept nogil
cdef void fill_pool(
    ClassSet pool, Block block, ObjectiveViews objective
) noexcept nogil
cdef bint recut(
    ClassSet pool, Block block, SearchWorkspace workspace, Py_ssize_t a,
    Py_ssize_t n_near,
) noexcept nogil
cdef bint has_room(ClassSet pool, Py_ssize_t n_near, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t recut_all(
    ClassSet pool, Block block, SearchWorkspace workspace, Py_ssize_t reach
) noexcept nogil

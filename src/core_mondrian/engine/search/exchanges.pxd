from core_mondrian.engine.search.workspace cimport (
    ClassSet, ObjectiveViews, SearchWorkspace,
)

cdef long long _LOT_BITS


cdef long long draw(ClassSet pool, long long n) noexcept nogil
cdef int record_of(ClassSet pool, Py_ssize_t number) noexcept nogil
cdef void link(ClassSet pool, int place, int number) noexcept nogil
cdef void unlink(ClassSet pool, int place) noexcept nogil
cdef double loss_after(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t number, Py_ssize_t gone,
    Py_ssize_t new,
) noexcept nogil
cdef double set_loss_after(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t column, Py_ssize_t number,
    Py_ssize_t gone, Py_ssize_t new,
) noexcept nogil
cdef bint weigh_sides(ClassSet pool, SearchWorkspace workspace) noexcept nogil
cdef void weigh_side(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t side
) noexcept nogil
cdef bint is_cheap(
    ClassSet pool, SearchWorkspace workspace, double most
) noexcept nogil
cdef double loss_of_side(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t side
) noexcept nogil
cdef bint rules_admit_side(
    ClassSet pool, SearchWorkspace workspace, Py_ssize_t side
) noexcept nogil
cdef void exchange(ClassSet pool, SearchWorkspace workspace) noexcept nogil
cdef void settle(
    ClassSet pool, ObjectiveViews objective, Py_ssize_t number, long long more
) noexcept nogil
cdef void take_rows(
    ClassSet pool, Py_ssize_t number, int place, long long n
) noexcept nogil
cdef void give_rows(
    ClassSet pool, int number, int place, long long n
) noexcept nogil
cdef int find_tuple(
    ClassSet pool, Py_ssize_t number, long long tuple_number
) noexcept nogil

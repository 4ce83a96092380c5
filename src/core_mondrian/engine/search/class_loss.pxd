from core_mondrian.engine.search.workspace cimport (
    ObjectiveViews, RecordBuffers, SearchWorkspace,
)


cdef long long worth_between(
    RecordBuffers buffers, ObjectiveViews objective, Py_ssize_t start,
    Py_ssize_t stop, long long rows,
) noexcept nogil
cdef double class_loss(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t start,
    Py_ssize_t stop, Py_ssize_t gone,
) noexcept nogil
cdef double value_set_loss(
    RecordBuffers buffers, SearchWorkspace workspace, Py_ssize_t column,
    Py_ssize_t start, Py_ssize_t stop, Py_ssize_t gone,
) noexcept nogil
cpdef void class_losses(
    RecordBuffers buffers, SearchWorkspace workspace, const long long[::1] starts,
    const long long[::1] stops, double[::1] losses,
)

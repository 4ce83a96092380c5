from core_mondrian.engine.search.workspace cimport ClassSet, Sketch


cdef void sketch_records(
    Sketch sketch, int[:, ::1] records, Py_ssize_t n
) noexcept nogil
cdef void sketch_record(
    Sketch sketch, int[:, ::1] records, Py_ssize_t record, Py_ssize_t place
) noexcept nogil
cdef int distance(Sketch sketch, Py_ssize_t i, Py_ssize_t j) noexcept nogil
cdef void take(Sketch sketch, Py_ssize_t i) noexcept nogil
cdef void list_left(Sketch sketch, Py_ssize_t i, Py_ssize_t most) noexcept nogil
cdef void list_classes(
    ClassSet pool, Py_ssize_t number, Py_ssize_t most
) noexcept nogil
cdef void list_record(
    Sketch sketch, int record, int far, Py_ssize_t most
) noexcept nogil
cdef int solitude(
    Sketch sketch, Py_ssize_t i, Py_ssize_t n, Py_ssize_t step, Py_ssize_t rank
) noexcept nogil
cdef void start_box(Sketch sketch, Py_ssize_t i) noexcept nogil
cdef void widen_box(Sketch sketch, Py_ssize_t i) noexcept nogil
cdef int box_with(Sketch sketch, Py_ssize_t i) noexcept nogil
cdef int box_width(Sketch sketch) noexcept nogil
cdef double class_width(
    ClassSet pool, Py_ssize_t number, int gone, int new
) noexcept nogil

from core_mondrian.engine.search.workspace cimport ObjectiveViews


cdef class TupleTree:
    cdef readonly object code_array
    cdef readonly object row_array
    cdef readonly object person_array
    cdef readonly Py_ssize_t n_tuples
    cdef ObjectiveViews objective
    cdef int[:, ::1] codes
    cdef long long[::1] persons
    cdef int[:, ::1] spans
    cdef int[:, ::1] low
    cdef int[:, ::1] high


cdef class NearTuples:
    cdef readonly object number_array
    cdef readonly object loss_array
    cdef readonly Py_ssize_t n
    cdef readonly double radius
    cdef Py_ssize_t most
    cdef int[::1] numbers
    cdef double[::1] losses

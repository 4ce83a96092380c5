from core_mondrian.engine.search.workspace cimport RecordBuffers, SearchWorkspace


cdef class OutlierScan:
    cdef RecordBuffers buffers
    cdef SearchWorkspace workspace
    cdef double price
    cdef long long[::1] starts
    cdef long long[::1] stops
    cdef long long[::1] rows
    cdef unsigned char[::1] is_open
    cdef double[::1] saved
    cdef long long[::1] taken


cdef void scan_class(OutlierScan scan, Py_ssize_t leaf) noexcept nogil
cdef void try_record(
    OutlierScan scan, Py_ssize_t leaf, Py_ssize_t i, double lost, long long worth
) noexcept nogil
cdef bint admits_others(
    OutlierScan scan, Py_ssize_t leaf, Py_ssize_t gone, long long rows
) noexcept nogil

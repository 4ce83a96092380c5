cdef double EQUAL, ORDERED, HIERARCHICAL, END_OF_CHILD, ROUNDED_UP

# What a measure sees of a class. `table` counts the whole table the same way.
ctypedef struct ClassFigures:
    long long rows
    const long long* counts
    const long long* table
    Py_ssize_t n_values
    const double* parameters
    Py_ssize_t n_parameters

ctypedef double (*MeasureFunction)(void* context, ClassFigures* figures) noexcept nogil

# A measure that was compiled elsewhere.
ctypedef double (*ForeignFunction)(
    long long rows, const long long* counts, const long long* table,
    long long n_values, const double* parameters, long long n_parameters,
) noexcept nogil


cdef class Measure:
    cdef MeasureFunction function
    cdef void* context
    cdef readonly object python
    cdef readonly object owner


cdef Measure shipped(MeasureFunction function)
cdef double call_foreign(void* context, ClassFigures* figures) noexcept nogil
cdef double distinct_values(void* context, ClassFigures* figures) noexcept nogil
cdef double entropy(void* context, ClassFigures* figures) noexcept nogil
cdef double largest_share(void* context, ClassFigures* figures) noexcept nogil
cdef double recursive_ratio(void* context, ClassFigures* figures) noexcept nogil
cdef double relative_gain(void* context, ClassFigures* figures) noexcept nogil
cdef double log_ratio(void* context, ClassFigures* figures) noexcept nogil
cdef double fitting_persons(void* context, ClassFigures* figures) noexcept nogil
cdef double share_present(void* context, ClassFigures* figures) noexcept nogil
cdef double movers_distance(void* context, ClassFigures* figures) noexcept nogil
cdef double equal_distance(ClassFigures* figures, long long total) noexcept nogil
cdef double ordered_distance(ClassFigures* figures, long long total) noexcept nogil
cdef double hierarchical_distance(ClassFigures* figures, long long total) noexcept nogil

from core_mondrian.engine.layout cimport Rule
from core_mondrian.models.measures cimport ClassFigures, MeasureFunction

cdef enum:
    MOST_RULES = 64


cdef long long _ROWS, _LAST_CLOCK


cdef class SetCounts:
    cdef long long[::1] by_value
    cdef long long n_persons
    cdef long long n_whole
    cdef long long clock
    cdef long long[::1] person_rows


cdef class Rules:
    cdef long long min_rows
    cdef bint is_monotone
    cdef bint has_rules
    cdef bint has_units
    cdef long long present
    cdef Py_ssize_t n_values
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t n_sensitive
    cdef Py_ssize_t rows_at
    cdef Rule[::1] rules
    cdef double[::1] parameters
    cdef long long[::1] table_counts
    cdef long long[::1] count_offset
    cdef object measures
    cdef MeasureFunction functions[MOST_RULES]
    cdef void* contexts[MOST_RULES]


cdef bint rules_admit(Rules rules, long long rows, SetCounts counts) noexcept nogil
cdef double measured(
    Rules rules, Py_ssize_t number, long long rows, long long last, SetCounts counts
) noexcept nogil
cdef long long rows_of_person(SetCounts counts, Py_ssize_t person) noexcept nogil
cdef void change_counts(
    SetCounts counts, Rules rules, const int* record, long long rows
) noexcept nogil
cdef void add_record(SetCounts counts, Rules rules, const int* record) noexcept nogil
cdef void change_side(
    SetCounts side, SetCounts whole, Rules rules, const int* record, long long rows
) noexcept nogil
cdef void add_to_side(
    SetCounts side, SetCounts whole, Rules rules, const int* record
) noexcept nogil
cdef bint admits_sides(
    Rules rules, long long rows, long long taken, SetCounts whole, SetCounts side,
    SetCounts rest,
) noexcept nogil
cdef void count_rest(
    Rules rules, SetCounts whole, SetCounts side, SetCounts rest
) noexcept nogil
cdef void clear(SetCounts counts) noexcept nogil

# Inlined where they are called, which is in every innermost loop.

from core_mondrian.engine.layout cimport ANY, RANGE
from core_mondrian.engine.search.workspace cimport ObjectiveViews


cdef inline long long worth_of(
    ObjectiveViews objective, const int* record, Py_ssize_t rows_at
) noexcept nogil:
    cdef long long rows = record[rows_at]
    if not objective.has_worth:
        return rows
    return rows * objective.worth[record[rows_at + 1]]


cdef inline long long lowest_node(
    ObjectiveViews objective, Py_ssize_t column, long long low, long long high
) noexcept nogil:
    cdef long long first = objective.info[column].node_offset
    cdef long long node = first
    cdef long long left, right, middle
    while objective.nodes[node].n_children > 0:
        left = first + objective.nodes[node].first
        right = left + objective.nodes[node].n_children - 1
        while left < right:
            middle = (left + right + 1) // 2
            if objective.nodes[middle].low <= low:
                left = middle
            else:
                right = middle - 1
        if objective.nodes[left].high < high:
            break
        node = left
    return node


cdef inline double box_loss(
    ObjectiveViews objective, Py_ssize_t column, long long low, long long high
) noexcept nogil:
    cdef long long kind, n_codes, offset
    if low == high:
        return 0.0
    kind = objective.info[column].kind
    if kind == ANY:
        return objective.info[column].weight
    n_codes = objective.info[column].n_codes
    if high == n_codes - 1:
        # Missing next to present values: shown as a blank.
        return objective.info[column].weight
    if kind == RANGE:
        offset = objective.info[column].value_offset
        return objective.positions[offset + high] - objective.positions[offset + low]
    offset = objective.info[column].share_offset
    if offset >= 0:
        return objective.shares[offset + low * n_codes + high]
    return objective.nodes[lowest_node(objective, column, low, high)].share

"""What a class loses in one column; the twin of ``objective.pxd``, which is inlined."""

from core_mondrian.engine.layout import ANY, RANGE, Codes
from core_mondrian.engine.search.workspace import ObjectiveViews


def worth_of(objective: ObjectiveViews, record: Codes, rows_at: int) -> int:
    """Return how often the loss of a record's rows counts."""
    rows = int(record[rows_at])
    if not objective.has_worth:
        return rows
    return rows * int(objective.worth[record[rows_at + 1]])


def lowest_node(objective: ObjectiveViews, column: int, low: int, high: int) -> int:
    """Return the lowest hierarchy node that covers both codes."""
    first = int(objective.info[column].node_offset)
    node = first
    while objective.nodes[node].n_children > 0:
        left = first + int(objective.nodes[node].first)
        right = left + int(objective.nodes[node].n_children) - 1
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


def box_loss(objective: ObjectiveViews, column: int, low: int, high: int) -> float:
    """Return what each row of a class loses whose codes reach from low to high."""
    if low == high:
        return 0.0
    aim = objective.info[column]
    n_codes = int(aim.n_codes)
    if aim.kind == ANY or high == n_codes - 1:
        # Missing next to present values is shown as a blank.
        return float(aim.weight)
    if aim.kind == RANGE:
        places = objective.positions[aim.value_offset :]
        return float(places[high] - places[low])
    if aim.share_offset >= 0:
        return float(objective.shares[aim.share_offset + low * n_codes + high])
    return float(objective.nodes[lowest_node(objective, column, low, high)].share)

"""What codes stand for: values, hierarchy nodes, blanks."""

from core_mondrian.engine.layout import Columns


class ColumnViews:
    """The columns as compiled code reads them."""

    def __init__(self, columns: Columns) -> None:
        self.info = columns.info
        self.values = columns.values
        self.domains = columns.domains
        self.nodes = columns.nodes


def common_ancestor(columns: ColumnViews, column: int, low: int, high: int) -> int:
    """Return the lowest hierarchy node that covers the codes ``low`` to ``high``."""
    first = columns.info[column].node_offset
    node = 0
    while columns.nodes[first + node].n_children > 0:
        child = child_with(columns, column, node, low)
        if columns.nodes[first + child].high < high:
            break
        node = child
    return node


def child_with(columns: ColumnViews, column: int, node: int, code: int) -> int:
    """Return the child of ``node`` that covers ``code``, by bisection."""
    first = columns.info[column].node_offset
    left = columns.nodes[first + node].first
    right = left + columns.nodes[first + node].n_children - 1
    while left < right:
        middle = (left + right + 1) // 2
        if columns.nodes[first + middle].low <= code:
            left = middle
        else:
            right = middle - 1
    return left


def is_blank(columns: ColumnViews, column: int, low: int, high: int) -> bool:
    """Return whether a class with this box mixes missing and present values."""
    return high == columns.info[column].n_values and low < high

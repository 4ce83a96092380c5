"""Bars of block characters."""

from typing import Final

_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def bar(value: float, most: float, width: int, *, is_plain: bool = False) -> str:
    """Return a bar that is ``width`` long for ``most``, and visible for anything.

    ``is_plain``: the terminal knows ASCII only.
    """
    share = value / most if most else 0.0
    if is_plain:
        return "#" * max(round(width * share), int(share > 0))
    whole, rest = divmod(max(round(8 * width * share), int(share > 0)), 8)
    return "█" * whole + _EIGHTHS[rest].strip()

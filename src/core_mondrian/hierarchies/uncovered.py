"""What becomes of values that a hierarchy lacks."""

from typing import Literal, get_args

Uncovered = Literal["error", "own branch", "suppress"]
UNCOVERED: tuple[Uncovered, ...] = get_args(Uncovered)

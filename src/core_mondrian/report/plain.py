"""Values as JSON and text as a page can hold them."""

import re
from functools import cache

from core_mondrian.release.manifests import finite, manifest_text

__all__ = ["DASH", "between", "finite", "manifest_text", "writable"]

# Control characters, halves of pairs, and marks that turn the direction of text around.
_UNWRITABLE = (
    "[^\t\n\r\x20-\x7e\xa0-\u061b\u061d-\u200d\u2010-\u2029\u202f-\u2065\u206a-\ud7ff"
    "\ue000-\ufffd\U00010000-\U0010ffff]"
)

DASH = "\u2013"
"""From … to …; alone: nothing."""


def between(low: int, high: int) -> str:
    """Write a range of whole numbers."""
    return f"{low:,}" if low == high else f"{low:,}{DASH}{high:,}"


def writable(words: str) -> str:
    """Return text without what a page cannot hold or what would disorder it."""
    return _unwritable().sub("\ufffd", words)


@cache
def _unwritable() -> re.Pattern[str]:
    """Compile when a page is written: it takes 4 ms."""
    return re.compile(_UNWRITABLE)

"""Examples on pages, as the site shows them.

Marks on pages say what the tests do with a block: run it, write it to a file, compare
it. Readers see the name of the file, and which block is an output.
"""

import re
from typing import Final

_FENCE: Final = re.compile(r"^```(\w+) +(\S+) *$", re.MULTILINE)


def without_marks(page: str) -> str:
    """Return the page with each mark of a block replaced by its title, if any."""
    return _FENCE.sub(_titled, page)


def _titled(fence: re.Match[str]) -> str:
    language, mark = fence.groups()
    if mark == "runnable":
        return f"```{language}"
    title = "Output" if mark == "output" else mark.removeprefix("file=")
    return f'```{language} title="{title}"'


def with_deep_lists(page: str) -> str:
    """Return the page with what belongs to an item of a list set in by four spaces.

    GitHub's Markdown takes two, MkDocs' four.
    """
    lines = page.split("\n")
    inside = False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            inside = not inside
        elif not inside and line.startswith("  ") and not line.startswith("   "):
            lines[number] = f"  {line}"
    return "\n".join(lines)

"""Tables as Markdown, and where they stand in a page."""

from collections.abc import Mapping
from pathlib import Path


def cells(*texts: str) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(texts)} |"


def rule(n: int) -> str:
    """Return the line under the head of ``n`` columns."""
    return "|" + "---|" * n


def write_loss(value: float | None) -> str:
    """Return a share with four digits; None: not known."""
    return "-" if value is None else f"{value:.4f}".removeprefix("0")


def write_millions(value: int) -> str:
    return f"{value / 1e6:.3f}m".removeprefix("0")


def write_seconds(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def update_page(page: Path, texts: Mapping[str, str]) -> None:
    """Put each text between the two marks of its name, where the page has them."""
    whole = page.read_text(encoding="utf-8")
    marks = {f"<!-- {name} -->": text for name, text in texts.items()}
    present = [mark for mark in marks if whole.count(mark) == 2]
    if not present:
        raise SystemExit(f"{page.name} has no two marks {' or '.join(marks)}")
    for mark in present:
        before, _, after = whole.split(mark)
        whole = f"{before}{mark}\n\n{marks[mark]}\n\n{mark}{after}"
    page.write_text(whole, encoding="utf-8")

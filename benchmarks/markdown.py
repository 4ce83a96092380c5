"""Tables as Markdown, and where they stand in a page."""

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


def update_page(page: Path, name: str, text: str) -> None:
    """Put a text between the two marks of this name, each on a line of its own."""
    mark = f"<!-- {name} -->"
    parts = page.read_text(encoding="utf-8").split(mark)
    if len(parts) != 3:
        raise SystemExit(f"{page.name} has not two marks {mark}")
    page.write_text(f"{parts[0]}{mark}\n\n{text}\n\n{mark}{parts[2]}", encoding="utf-8")

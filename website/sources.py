"""Files outside docs/ that pages link to, as pages of the site.

No address of a repository is needed: the site holds every file that it links to.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = "source"
"""Where in the site those pages are."""
_LINK: Final = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")
_LANGUAGES: Final = {".py": "python", ".pxd": "cython", ".toml": "toml", ".yml": "yaml"}
_UNSEARCHED: Final = "---\nsearch:\n  exclude: true\n---\n"
_FENCE: Final = "`" * 8
"""Longer than any fence inside a file."""


def source_pages(root: Path, docs: Path) -> dict[str, str]:
    """Return the page of each file that docs/ links to, by its path in the site."""
    pages: dict[str, str] = {}
    waiting = sorted(docs.rglob("*.md"))
    while waiting:
        for target in _outside_targets(waiting.pop(), docs):
            path = page_path(target, root)
            if path not in pages:
                pages[path] = _page(target, root)
                waiting += [target] if target.suffix == ".md" else []
    return pages


def with_site_links(text: str, page: Path, site_path: str, root: Path) -> str:
    """Return ``text`` with links that work where the site shows it.

    ``page`` is the file it stands in, ``site_path`` its place in the site.
    """
    docs = root / "docs"

    def moved(link: re.Match[str]) -> str:
        target = _target(page, link[2])
        if not target.exists():
            return link[0]
        inside = target.is_relative_to(docs)
        place = (
            target.relative_to(docs).as_posix() if inside else page_path(target, root)
        )
        return link[1] + _relative(place, site_path) + link[3]

    return _LINK.sub(moved, text)


def page_path(target: Path, root: Path) -> str:
    """Return where the site shows a file of the repository."""
    name = target.relative_to(root).as_posix()
    return f"{FOLDER}/{name}" if target.suffix == ".md" else f"{FOLDER}/{name}.md"


def _outside_targets(page: Path, docs: Path) -> Iterator[Path]:
    for _, link, _ in _LINK.findall(page.read_text(encoding="utf-8")):
        target = _target(page, link)
        if target.exists() and not target.is_relative_to(docs):
            yield target


def _target(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _relative(place: str, site_path: str) -> str:
    return Path(os.path.relpath(place, Path(site_path).parent)).as_posix()


def _page(target: Path, root: Path) -> str:
    if target.suffix == ".md":
        return target.read_text(encoding="utf-8")
    title = f"{_UNSEARCHED}\n# {target.relative_to(root).as_posix()}\n\n"
    if target.is_dir():
        return title + _listing(target.iterdir())
    language = _LANGUAGES.get(target.suffix, "text")
    content = target.read_text(encoding="utf-8")
    return f"{title}{_FENCE}{language}\n{content}\n{_FENCE}\n"


def _listing(entries: Iterable[Path]) -> str:
    shown = sorted(
        entry.name for entry in entries if entry.suffix in {".py", ".md", ""}
    )
    return "".join(f"* `{name}`\n" for name in shown if not name.startswith("__"))

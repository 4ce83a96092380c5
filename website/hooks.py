"""What MkDocs calls while it builds the site; named in mkdocs.yml."""

import logging
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # MkDocs loads this file alone

from website.commands import MARK, command_reference  # noqa: E402
from website.fences import with_deep_lists, without_marks  # noqa: E402
from website.names import absent_names, with_public_names  # noqa: E402
from website.sources import FOLDER, source_pages, with_site_links  # noqa: E402

_DOCS = ROOT / "docs"
_log = logging.getLogger("mkdocs.website")


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs/ that pages link to."""
    for path, content in source_pages(ROOT, _DOCS).items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_others: object) -> str:
    """Return what a page says in the site."""
    path = page.file.src_uri
    if path.startswith(f"{FOLDER}/") and path.endswith((".py.md", ".pxd.md")):
        return markdown
    file = ROOT / path.removeprefix(f"{FOLDER}/") if FOLDER in path else _DOCS / path
    linked = with_site_links(markdown, file, path, ROOT)
    text = without_marks(with_deep_lists(linked))
    if MARK in text:
        text = text.replace(MARK, command_reference())
    if "::: public " in text:
        for name in absent_names(text):
            _log.warning("%s: no section holds the public name %s", path, name)
        text = with_public_names(text)
    return text

"""What pages name of the code: links to files, and the names behind each link."""

import ast
import re
from functools import cache
from pathlib import Path

_LINK = re.compile(r"\[[^]]+\]\(([^)#]+)\)((?:(?:,| or| and)?\s+`[^`]+`)*)")


def links(text: str, page: Path) -> list[tuple[Path, list[str]]]:
    """Return the files that a text links to, each with the names after the link."""
    return [
        ((page.parent / target).resolve(), re.findall(r"`([^`]+)`", names))
        for target, names in _LINK.findall(text)
    ]


@cache
def defined_in(file: Path) -> frozenset[str]:
    """Return the names that a module defines; those of a class as ``Class.name``."""
    return frozenset(_names_in(ast.parse(file.read_text(encoding="utf-8")).body))


def _names_in(body: list[ast.stmt], before: str = "") -> list[str]:
    names = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(before + node.name)
        if isinstance(node, ast.ClassDef):
            names += _names_in(node.body, f"{before}{node.name}.")
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [before + ast.unparse(target) for target in targets]
        if isinstance(node, ast.If):  # constants of compiled modules
            names += _names_in(node.body, before)
    return names

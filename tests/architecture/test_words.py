"""Words that were given up come back neither as names of the code nor in prose."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
RETIRED = {
    "crew": "executor",
    "LocalCrew": "PartitionExecutor",
    "Solved": "a task's result",
    "Standard": "Constraints",
    "Finder": "SearchWorkspace",
    "Pool": "ClassSet",
    "Concern": "DisclosureWarning",
    "LookedAt": "RowSample",
    "CountedPlan": "RemotePlan",
    "TOLD": "DESCRIPTIONS",
    "draw_up": "build_plan",
    "ask_again": "tightened_spec",
    "take_in": "load_and_encode",
    "as_asked": "with_requested_spec",
    "check_apart": "require_distinct",
    "set_apart": "separate_suppressed",
    "is_apart": "is_separate",
    "scatter": "splitmix64",
    "tell_release": "print_release",
    "tell_verification": "print_verification",
    "tell_tree": "describe_tree",
    "raise_rows": "bisect_min_rows",
    "_plant": "build_roots",
    "grow_until_met": "grow_until_consistent",
    "number_pieces": "number_fragments",
    "label_middles": "label_representatives",
    "deal_rows": "move_rows",
    "Sight": "DistinctRows",
    "look_at_frame": "distinct_rows_of_frame",
    "looked_at": "verified_columns",
    "told_by_column": "gain_by_column",
    "anonymize_source": "anonymize_file",
    "order_by_lot": "order_rows",
    "write_page": "report_html",
}
"""The word that is not used any more, and the one that is."""
RETIRED_PHRASES = {
    r"tells?|telling": "reports, prints, reveals, states",
    r"told": "reported, distinguished",
    r"next to": "compared with, relative to; of places: beside",
    r"(?:stands?|kept|set|given back) apart": "separate",
    r"for ever": "permanently",
    r"(?:leave|inside|within) the house": "be published, be passed on",
    r"what (?:comes out|goes in|went in)": "the result, the input",
    r"whatever comes out": "the result",
    r"is dear": "is costly",
    r"singles? people out next": "identifies",
    r"nobody can be (?:singled out|told)": "every person shares their released values",
    r"tables with people in them": "tables of personal data",
    r"tables of people in": "tables of personal data",
    r"reckon with": "assume",
    r"by lot": "at random",
    r"has not the": "does not have the",
    r"have not the": "do not have the",
    r"what is (?:told|asked|found|known)": "name the thing",
    r"as it is asked": "on request",
    r"of one's own": "your own",
    r"allows? to": "makes it possible to; lets you",
    r"is there already": "already exists",
    r"mind that": "note that",
    r"made anew|make anew": "again",
    r"lives with": "accepts",
    r"(?:gives?|gave|giving) (?:it |them |this |these )?away": "reveals; passes on",
    r"(?:decided|decides|drawn|taken|done) by lots?": "at random",
    r"of strangers": "from strangers",
    r"cr(?:y|ies) wolf": "fails without a fault",
    r"(?:are|is|were|was) dealt|dealt out": "is assigned",
    r"(?:a|the|some|one) finds?\b(?= (?:is|are|was|were))": "a finding",
    r"(?:counted|notes?|lie) apart": "separately",
    r"dear(?:er|est)": "more costly, most costly",
    r"middles": "midpoints",
    r"held fast": "pinned",
    r"lead(?:s|ing)? nowhere": "fails, does not succeed",
    r"comes? out so": "is the result",
    r"taken? for granted": "assumed",
    r"but for (?:what|one|those|the|its)": "except",
    r"for want of": "without",
    r"nobody asked for": "that was not requested",
    r"not in the way of": "no protection against",
    r"made of the data": "derived from the data",
    r"has it that": "says that",
    r"is another matter": "is different",
    r"which is said": "which the output says",
    r"without a word": "silently",
    r"singles? (?:anybody|somebody|people|persons|rows) out": "identifies",
    r"(?:is|are) no (?:quasi-identifiers?|numbers?|UTF-8|polic(?:y|ies))": "is not a …",
}
"""The phrase that is not used any more in prose, and what an editor would print."""
INNER_ROOMS = (
    *("encoding", "engine", "hierarchies", "measures", "models", "recoding", "runtime"),
    *("spec", "tables", "verification"),
)
INNER = sorted(
    path
    for room in INNER_ROOMS
    for path in (ROOT / "src" / "core_mondrian" / room).rglob("*.py")
    if path.parent.name != "search"
)
"""Modules whose docstrings and comments are read, too."""
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)


def names_in(path: Path) -> set[str]:
    source = io.StringIO(path.read_text(encoding="utf-8"))
    tokens = tokenize.generate_tokens(source.readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_name_is_a_word_that_was_given_up(path: Path) -> None:
    found = names_in(path) & RETIRED.keys()
    assert not found, {name: RETIRED[name] for name in found}


def test_no_module_is_called_like_one_of_the_standard_library() -> None:
    ours = {path.stem for path in SOURCES if path.stem != "__init__"}
    rooms = {path.parent.name for path in SOURCES}
    assert not (ours | rooms) & (set(sys.stdlib_module_names) - {"__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_a_phrase_that_was_given_up(page: Path) -> None:
    assert phrases_in(page.read_text(encoding="utf-8")) == {}


def test_a_phrase_is_found_across_lines_and_not_in_code() -> None:
    page = "Our rows next\nto theirs: `next to`.\n```\nhas not the\n```\n"

    assert phrases_in(page) == {"next to": RETIRED_PHRASES["next to"]}


@pytest.mark.parametrize("path", INNER, ids=lambda path: path.stem)
def test_no_inner_docstring_has_a_phrase_that_was_given_up(path: Path) -> None:
    assert phrases_in("\n\n".join(comments_in(path))) == {}


def comments_in(path: Path) -> list[str]:
    """Return the docstrings and comments of a module, those of values included."""
    text = path.read_text(encoding="utf-8")
    standing = {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        token.string
        for token in tokens
        if token.type == tokenize.COMMENT or token.start in standing
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_message_or_help_has_a_phrase_that_was_given_up(path: Path) -> None:
    found = {
        text: phrases
        for text in texts_in(path)
        if text not in VALUES and (phrases := phrases_in(text))
    }
    assert not found


def test_help_and_messages_are_read_and_other_docstrings_are_not() -> None:
    texts = set(texts_in(ROOT / "src/core_mondrian/cli/sign.py"))
    assert any("KEYFILE" in text for text in texts), "what --help prints"
    assert not [text for text in texts if text.startswith("What `sign` is asked")]


VALUES = {"by lot", 'together|"by lot"'}
"""Values of keys, which stay as they are."""


def texts_in(path: Path) -> Iterator[str]:
    """Yield what users may read: messages, help, and the docstrings of commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    quiet = {id(text) for text in docstrings(tree)}
    for node in ast.walk(tree):
        if id(node) in quiet or not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.value


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield docstrings, of fields as well, but not those that --help prints."""
    for node in ast.walk(tree):
        marks = getattr(node, "decorator_list", [])
        if any(ast.unparse(mark).startswith("command(") for mark in marks):
            continue
        for one in getattr(node, "body", []) if has_body(node) else []:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                yield one.value


def has_body(node: ast.AST) -> bool:
    return isinstance(getattr(node, "body", None), list)


def phrases_in(page: str) -> dict[str, str]:
    """Return the retired phrases of a page's prose, each with what to say instead."""
    prose = " ".join(_CODE.sub(" ", page).split())
    return {
        phrase: better
        for phrase, better in RETIRED_PHRASES.items()
        if re.search(rf"\b(?:{phrase})\b", prose, re.IGNORECASE)
    }


SPOKEN = re.compile(r"_*(?:say|tell|told|said|asked|found|spell|spelled)(?:_.*)?$")
READ_FIRST = ("cli", "studio", "report", "analysis", "release")
"""Rooms whose functions are called by what they return, print or do."""


@pytest.mark.parametrize("room", READ_FIRST)
def test_functions_are_not_called_by_verbs_of_speech(room: str) -> None:
    files = (ROOT / "src" / "core_mondrian" / room).rglob("*.py")
    names = {
        (file.name, node.name)
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }

    assert {one for one in names if SPOKEN.match(one[1].lower())} == set()


PARTICIPLES = {"found", "told"}
"""They say where a value came from; a name says what it is."""
RENAMED_ELSEWHERE = ("sources", "engine/search")


def variables_in(tree: ast.Module) -> Iterator[str]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    for node in (inside for one in functions for inside in ast.walk(one)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_variable_is_called_by_a_participle(path: Path) -> None:
    room = path.relative_to(ROOT / "src" / "core_mondrian").as_posix()
    if room.startswith(RENAMED_ELSEWHERE):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not PARTICIPLES & set(variables_in(tree))

"""Words that were given up do not come back as names of the code."""

import io
import sys
import tokenize
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
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
}
"""The word that is not used any more, and the one that is."""


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

"""Keys are found in the line they stand in, however TOML spells them."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.runtime.toml_positions import find_line, key_lines

FILE = '''# quasi_identifiers = [1]
quasi_identifiers = [
  "a",  # k = 3
  "b]",
]
"k" = 3
numbers = {default = "mean", "b]" = "median"}
text = """
k = 5
[no]
"""
other = \'\'\'
[never]\'\'\'
best.effort = "fast"
when = 1979-05-27T07:32:00Z
points = [1.5, {x = 1}, [2, {y = 3}]]

[hierarchies]
"a.b" = 'x#y'
'c d' = "\\"="
[[models]]
name = "t"
t = 0.5
[[models]]
name = 'u'
[models.inner]
deep = true
[paper.breakout_thresholds] # [x]
a = 1'''


@pytest.mark.parametrize(
    ("way", "line"),
    [
        (("quasi_identifiers",), 2),
        (("quasi_identifiers", 1), 4),
        (("k",), 6),
        (("numbers", "b]"), 7),
        (("text",), 8),
        (("other",), 12),
        (("best", "effort"), 14),
        (("when",), 15),
        (("points", 1, "x"), 16),
        (("points", 2, 1, "y"), 16),
        (("hierarchies",), 18),
        (("hierarchies", "a.b"), 19),
        (("hierarchies", "c d"), 20),
        (("models",), 21),
        (("models", 0, "t"), 23),
        (("models", 1), 24),
        (("models", 1, "name"), 25),
        (("models", 1, "inner", "deep"), 27),
        (("paper", "breakout_thresholds", "a"), 29),
        pytest.param(("models", 0, "nothing"), 21, id="nearest above"),
        pytest.param(("no",), None, id="in a text"),
        pytest.param(("never",), None, id="in another text"),
        pytest.param((), None, id="no key"),
    ],
)
def test_a_key_is_found_in_its_line(
    way: tuple[str | int, ...], line: int | None
) -> None:
    assert tomllib.loads(FILE)
    assert find_line(FILE, way) == line
    assert find_line(FILE.replace("\n", "\r\n"), way) == line


def ways(value: Any, way: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    found = {way} if way else set()
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            found |= ways(item, (*way, key))
    return found


KEYS = st.sampled_from(["a", '"b.c"', "'d]'", "e-f", '"="', '"g\\"h"', "a.x"])
VALUES = st.recursive(
    st.sampled_from(
        ["1", "-2.5e3", "true", '"]"', "'#'", '"""\na = 1\n"""', "'''[x]\n'''"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda x: "[\n" + ",\n# c\n".join(x) + "\n]")
        | st.lists(inner, max_size=2).map(
            lambda x: (
                "{"
                + ", ".join(f"k{i} = {y}" for i, y in enumerate(x) if "\n" not in y)
                + "}"
            )
        )
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(KEYS, VALUES, st.sampled_from(["", "[t]", "[[u]]"]))))
def test_every_key_that_tomllib_reads_is_found_and_no_other(
    parts: list[tuple[str, str, str]],
) -> None:
    text = "".join(f"{head}\n{key} = {value}\n" for key, value, head in parts)
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return

    assert set(key_lines(text)) == ways(read)

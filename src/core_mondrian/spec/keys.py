"""The keys of a spec, each declared once.

Readers, JSON Schema, flags, the manifest, the studio, `help(Spec)` and the table of
docs/spec.md are derived. Nothing heavy loads here, since `--help` needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Never, get_args

from core_mondrian.hierarchies.uncovered import UNCOVERED, Uncovered
from core_mondrian.spec.metadata import (
    ABSENT,
    COLUMNS,
    OTHER,
    PROTECTION,
    SEARCH,
    SHOWN,
    TABLE,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    Flag,
    Key,
    Kind,
    declare,
    keys_of,
)
from core_mondrian.spec.policies import POLICIES, BestPolicy, Policy
from core_mondrian.spec.suppression import Suppression
from core_mondrian.spec.thresholds import Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core_mondrian.hierarchies.base import Builder
    from core_mondrian.hierarchies.tree import Hierarchy
    from core_mondrian.models.base import PrivacyModel

Numbers = Literal[
    "interval", "bounds", "struct", "mean", "median", "midpoint", "sample"
]
Categories = Literal["label", "set"]
Missing = Literal["pattern", "value"]
SmallPatterns = Literal["repair", "suppress"]
Suppressed = Literal["drop", "blank", "separate"]

_OWN_CLASS: Final = r"\.py:\w+"
_MODELS: Final = Kind({"type": "array"})
_POLICY: Final = Kind(
    {
        "anyOf": [
            {"enum": ["best", "paper", "original"]},
            {"type": "string", "pattern": _OWN_CLASS},
        ]
    },
    option=str,
)
_SUPPRESS: Final = Kind({"anyOf": [{"type": "string"}, {"type": "integer"}]}, None, str)
_ENTRIES: Final = {"type": "object", "additionalProperties": {"type": "object"}}


def _table_of(**values: Any) -> Kind:  # noqa: ANN401  # a JSON Schema
    return TABLE._replace(schema={"type": "object", "additionalProperties": values})


@dataclass(frozen=True, slots=True)
class SpecKeys:
    """A release as it is specified, key by key; `Spec` adds what follows from it."""

    quasi_identifiers: tuple[str, ...] = declare(
        "Columns others may know of a person; ties go to the first.",
        kind=TEXTS,
        shown_default="required",
        flag=Flag("--qid", PROTECTION, "COLUMN", "A quasi-identifier."),
        is_of_release=True,
    )
    k: ClassVar[Never] = declare(
        "Rows a class needs, at least 2.",
        kind=WHOLE._replace(schema={"type": "integer", "minimum": 2}, read=None),
        shown_default="required, if there are no `models`",
        docs="Short for the model `k-anonymity`; in Python `models=(KAnonymity(5),)`",
        flag=Flag("--k", PROTECTION, "K", "Rows a class needs, such as 5."),
        accepts="int | None = None",
        is_of_release=True,
    )
    models: tuple[PrivacyModel, ...] = declare(
        "Privacy models that every class has to pass, besides k.",
        kind=_MODELS,
        shown_default="none",
        docs="Array of tables: [more](#models)",
        flag=Flag(
            "--model",
            PROTECTION,
            "'NAME KEY=VALUE …'",
            "A privacy model, ours or FILE.py:CLASS.",
        ),
        accepts='"ModelLike | Iterable[ModelLike]" = ()',
        is_of_release=True,
    )
    identifiers: tuple[str, ...] = declare(
        "Columns removed from the release.",
        (),
        kind=TEXTS,
        flag=Flag("--identifier", COLUMNS, "COLUMN", "A column to remove."),
    )
    unit: str | None = declare(
        "The column that says whose row it is: sizes of classes count persons.",
        None,
        kind=TEXT,
        shown_default="every row is a person",
        docs="Sizes are then of [persons](guarantees.md#persons). The column is "
        "removed from the release, unless it is in `pseudonyms` as well; it may be in "
        "`identifiers`",
        flag=Flag("--unit", PROTECTION, "COLUMN"),
        is_of_release=True,
    )
    pseudonyms: tuple[str, ...] = declare(
        "Columns replaced by keyed pseudonyms; needs a key outside the spec.",
        (),
        kind=TEXTS,
        docs="[Pseudonyms](roles.md#pseudonyms); the key comes from `--key-file`, "
        "`CORE_MONDRIAN_KEY` or `key=`",
        flag=Flag(
            "--pseudonym", COLUMNS, "COLUMN", "A column to replace by keyed pseudonyms."
        ),
    )
    pseudonym_domains: Mapping[str, str] = declare(
        "Column to a domain; pseudonyms of one domain can be joined.",
        dict,
        kind=TABLE,
        shown_default="a domain for each column",
        docs="[Domains](roles.md#pseudonyms); a column's own is called like it",
    )
    weight: str | None = declare(
        "The column that says how many people a row stands for; measures use it.",
        None,
        kind=TEXT,
        docs="[Survey weights](roles.md#weights) are carried along",
        flag=Flag("--survey-weight", COLUMNS, "COLUMN"),
    )
    accept: tuple[str, ...] = declare(
        "Columns whose warnings are acknowledged.",
        (),
        kind=TEXTS,
        docs="[Warnings](roles.md#warnings)",
        flag=Flag(
            "--accept", COLUMNS, "COLUMN", "A column whose warnings are acknowledged."
        ),
    )
    policy: Policy = declare(
        "How cuts are chosen: lowest loss, Core Mondrian's funnel, the classic.",
        BestPolicy,
        kind=_POLICY,
        shown_default='`"best"`',
        docs='`"best"` (ours, beyond the paper), `"paper"` (the paper\'s system with '
        'all of its defaults), `"original"` (classic Mondrian) or [your own]'
        '(own-policy.md), `"FILE.py:CLASS"`',
        flag=Flag(
            "--policy",
            SEARCH,
            "best|paper|original|FILE.py:CLASS",
            "Cuts that lose least (default), Core Mondrian's, the classic, or your "
            "own.",
        ),
        accepts='Policy | type[Policy] | str = "best"',
    )
    missing: Missing | None = declare(
        "Missing values: one more value, or separated by pattern.",
        None,
        kind=TEXT,
        choices=get_args(Missing),
        shown_default='`"value"` for `best`, else `"pattern"`',
        docs='`"pattern"`: missing and present never share a class',
        flag=Flag("--missing", ABSENT),
    )
    small_patterns: SmallPatterns = declare(
        "Missing patterns that fail: repaired by blanks, or suppressed.",
        "repair",
        kind=TEXT,
        choices=get_args(SmallPatterns),
        docs="[Patterns that fail the models](concepts.md#missing-values-patterns-and-"
        'their-repair-32): `"repair"` blanks cells and loses no row; `"suppress"` '
        "leaves them out, smallest first, as long as the budget lasts, and repairs the "
        'others. An error with `missing = "value"`',
        flag=Flag("--small-patterns", ABSENT),
        is_new=True,
    )
    suppress: Suppression | None = declare(
        'Rows that may be left out: a share such as "1%", or a number.',
        None,
        kind=_SUPPRESS,
        shown_default='`"1%"` for `paper`, else 0',
        docs="Policy `best` leaves out only what is cheaper than to release it "
        "([`price`](#best)); `original` nothing, or small patterns",
        flag=Flag("--suppress", SEARCH, "1%|ROWS"),
        accepts="Suppression | str | int | None = None",
        is_of_release=True,
    )
    suppress_multiplier: ClassVar[Never] = declare(
        "Safety margin factor on a share, also above 1.",
        kind=OTHER._replace(schema={"type": "number", "minimum": 0}),
        shown_default="1",
        docs="Share times factor is at most all rows; a number of rows is taken as it "
        "is",
        accepts="float = 1",
    )
    suppressed: Suppressed = declare(
        "Rows that are left out: dropped, blank, or given back separately.",
        "drop",
        kind=TEXT,
        choices=get_args(Suppressed),
        docs='`"blank"` keeps them without a value in any column, `"separate"` leaves '
        "them out and [gives them back](#the-shape-of-a-release)",
        flag=Flag("--suppressed", SHOWN),
        is_of_release=True,
    )
    numbers: Numbers = declare(
        "How numbers are released: one word, or a table by column.",
        "interval",
        kind=TEXT,
        choices=get_args(Numbers),
        docs="[What they look like](types.md)",
        flag=Flag("--numbers", SHOWN, "HOW", "How numbers are released"),
        is_of_release=True,
    )
    numbers_by_column: Mapping[str, Numbers] = field(default_factory=dict)
    nice: bool = declare(
        "Put the bounds of ranges on a grid: true, or a table by column.",
        False,  # noqa: FBT003
        kind=TRUTH,
        docs="[The grid](#nice-bounds) is one that all classes share",
        flag=Flag(
            "--nice",
            SHOWN,
            help="Put the bounds of ranges on a grid that all classes share.",
        ),
    )
    nice_by_column: Mapping[str, bool] = field(default_factory=dict)
    categories: Categories = declare(
        "How categories are released: one word, or a table by column.",
        "label",
        kind=TEXT,
        choices=get_args(Categories),
        docs='`"label"`: the lowest label over a class\'s values, `*` without a '
        'hierarchy; `"set"`: [the values themselves](concepts.md#what-a-class-shows)',
        flag=Flag("--categories", SHOWN, help="How categories are released."),
    )
    categories_by_column: Mapping[str, Categories] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy | Builder] = declare(
        "Column to a file, relative to the spec, or how to make a tree.",
        dict,
        kind=_table_of(type=["string", "object"])._replace(read=None),
        shown_default="flat",
        docs="A `.csv`, `.json` or `.toml` file, or a table that says how to "
        '[make one](hierarchies.md#kinds): `{ kind = "prefix", steps = 2 }`',
        flag=Flag(
            "--hierarchy",
            SHOWN,
            "COLUMN=FILE|KIND",
            "A file, or such as zip=prefix:2, age=ranges:5,10.",
        ),
        accepts="Mapping[str, Any] = ...",
    )
    uncovered: Uncovered = declare(
        "Values that a hierarchy lacks: error, own branch, or suppress.",
        "error",
        kind=TEXT,
        choices=UNCOVERED,
        docs="[What becomes of them](hierarchies.md#values-that-a-hierarchy-lacks); "
        "also in the table of one hierarchy",
        flag=Flag("--uncovered", SHOWN),
    )
    uncovered_by_column: Mapping[str, Uncovered] = field(default_factory=dict)
    weights: Mapping[str, float] = declare(
        "How much a loss in a column matters, relative to 1 for the others.",
        dict,
        kind=_table_of(type="number", exclusiveMinimum=0),
        shown_default="1 each",
        docs="Above 0; in [`loss`](measures.md#loss-by-the-releases-own-yardstick) "
        "and in the search of policy `best`",
        flag=Flag("--weight", SEARCH, "COLUMN=NUMBER"),
    )
    target: str | None = declare(
        "The column a model will predict: what predicts it best loses least.",
        None,
        kind=TEXT,
        shown_default="none",
        docs="[Made for a model](target.md): policy `best` weighs the "
        "quasi-identifiers by how well they predict it. It is none of them, and is "
        "released; the rows have to be in memory",
        flag=Flag(
            "--for",
            SEARCH,
            "COLUMN",
            "The column that a model will predict from the release: what predicts it "
            "best loses least.",
        ),
        is_new=True,
    )
    inline_below: int = declare(
        "Partitions with fewer rows are solved in place.",
        1000,
        kind=WHOLE,
        docs="There cuts can be undone (§3.5); for `best`, blocks have fewer rows (4 "
        "times as many for `light` and `strong`, 10 times for `thorough` and `max`, 8 "
        "and 32 times for tables of [many columns](best.md#many-columns); or 100 times "
        "`k`, if that is more)",
        flag=Flag("--inline-below", SEARCH, "ROWS"),
    )
    class_id: str | None = declare(
        "A column to add, with the number of each row's class.",
        None,
        kind=TEXT,
        docs="[How they are numbered](#the-shape-of-a-release)",
        flag=Flag("--class-id", SHOWN, "COLUMN"),
    )
    shuffle: int | None = declare(
        "A seed: rows in an order of their own, not that of the source.",
        None,
        kind=WHOLE,
        shown_default="rows keep their order",
        docs="[An order of rows](#the-shape-of-a-release) that depends on what they "
        "show alone",
        flag=Flag("--shuffle", SHOWN, "SEED"),
    )
    guard_formulas: bool = declare(
        "CSV: an apostrophe before text that a spreadsheet would run.",
        False,  # noqa: FBT003
        kind=TRUTH,
        docs="[Why](hostile.md#names-and-cells-that-act)",
        flag=Flag("--guard-formulas", SHOWN),
        is_of_release=True,
        is_new=True,
    )
    exclude: tuple[str, ...] = declare(
        "Quasi-identifiers left out of the minima of thresholds.", (), kind=TEXTS
    )
    null_values: tuple[str, ...] = declare(
        "Texts that stand for a missing value, besides the empty one.",
        ("",),
        kind=TEXTS,
        docs="In [every named column of text](guarantees.md#cells-of-text)",
        flag=Flag("--null", ABSENT, "TEXT", "A text that stands for a missing value."),
        is_of_release=True,
    )
    thresholds: Thresholds = declare(
        "The quality a release should reach.",
        Thresholds,
        kind=Kind(_ENTRIES),
        shown_default="[see below](#thresholds)",
        accepts="Thresholds | Mapping[str, float | None] = ...",
    )
    best: ClassVar[Never] = declare(
        "Options of policy best.",
        kind=Kind(_ENTRIES),
        shown_default="[see below](#best)",
        accepts="Mapping[str, Any] = ...",
    )
    paper: ClassVar[Never] = declare(
        "Options of policy paper.",
        kind=Kind(_ENTRIES),
        shown_default="[see below](#paper)",
        accepts="Mapping[str, Any] = ...",
    )
    original: ClassVar[Never] = declare(
        "Options of policy original.",
        kind=Kind(_ENTRIES),
        shown_default="[see below](#original)",
        accepts="Mapping[str, Any] = ...",
    )


KEYS: Final[dict[str, Key]] = keys_of(SpecKeys)
"""What a spec file may say, in the order of the docs."""
BY_COLUMN: Final = tuple(
    name for name in KEYS if f"{name}_by_column" in SpecKeys.__dataclass_fields__
)
"""Keys that are one word, or a table by column in which it is the default."""
TABLES: Final[dict[str, type]] = {"thresholds": Thresholds, **POLICIES}
"""Keys that are tables with keys of their own, and where these are declared."""
CHOICES: Final = {name: one.choices for name, one in KEYS.items() if one.choices}
FORMATS: Final = ("numbers", "categories")

"""Spec: everything that can change a released cell, as one value."""

import dataclasses
import difflib
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import UNCOVERED, Builder, Uncovered
from core_mondrian.hierarchies.codes import Flat
from core_mondrian.hierarchies.load import check_entry
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models.base import PrivacyModel
from core_mondrian.spec.policies import (
    BestPolicy,
    FunnelPolicy,
    OriginalPolicy,
    PaperPolicy,
    Policy,
    check_policy,
    describe_policy,
)
from core_mondrian.spec.suppression import Suppression, exact
from core_mondrian.tables.keys import Key

Numbers = Literal[
    "interval", "bounds", "struct", "mean", "median", "midpoint", "sample"
]
Categories = Literal["label", "set"]
Missing = Literal["pattern", "value"]
SmallPatterns = Literal["repair", "suppress"]
Suppressed = Literal["drop", "blank", "separate"]

CHOICES: dict[str, tuple[str, ...]] = {
    "numbers": get_args(Numbers),
    "categories": ("label", "set"),
    "missing": ("pattern", "value"),
    "small_patterns": get_args(SmallPatterns),
    "suppressed": get_args(Suppressed),
    "uncovered": UNCOVERED,
}
FORMATS = ("numbers", "categories")
_ROLES = (
    *("quasi_identifiers", "sensitive", "identifiers", "unit", "pseudonyms"),
    "weight",
)
RANGES = ("interval", "bounds", "struct")
_NO_SUPPRESSION = (Suppression(), Suppression(rows=0))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Quality a release should reach; None: not asked. Defaults of the reference."""

    pct_non_suppressed: float | None = 0.99
    rilm_categorical: float | None = 0.90
    rilm_numerical: float | None = None
    pearson: float | None = 0.90
    nmi: float | None = 0.80

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise SpecError(f"thresholds.{item.name} lies between 0 and 1")


@dataclass(frozen=True, slots=True)
class Spec:
    """What is asked of a release.

    >>> Spec(("age", "sex"), models=(KAnonymity(5),)).min_rows
    5
    """

    quasi_identifiers: tuple[str, ...]
    models: tuple[PrivacyModel, ...]
    identifiers: tuple[str, ...] = ()
    """Columns removed from the release."""
    unit: str | None = None
    """The column that says which person a row is of: sizes of classes then count
    persons. It is removed from the release, unless it is among the pseudonyms too; it
    may be among the identifiers. None: every row is a person."""
    pseudonyms: tuple[str, ...] = ()
    """Identifiers that are replaced by keyed pseudonyms instead of being removed."""
    pseudonym_domains: Mapping[str, str] = field(default_factory=dict)
    """Pseudonyms of one domain can be joined; a column's own is called like it."""
    weight: str | None = None
    """The column that says how many people a row stands for; only measures use it."""
    accept: tuple[str, ...] = ()
    """Columns whose warnings are known and accepted."""
    hierarchies: Mapping[str, Hierarchy | Builder] = field(default_factory=dict)
    """Trees, or how to make one of the column's values."""
    uncovered: Uncovered = "error"
    """Values a hierarchy lacks: refuse, hang them under the root, or blank them."""
    uncovered_by_column: Mapping[str, Uncovered] = field(default_factory=dict)
    policy: Policy = field(default_factory=BestPolicy)
    missing: Missing | None = None
    """None: one more value for `best`, kept apart by pattern for the others."""
    small_patterns: SmallPatterns = "repair"
    """Missing patterns that fail the models: repaired by blanking cells, or suppressed
    whole as long as the budget lasts. Goes with ``missing="pattern"`` only."""
    suppress: Suppression | None = None
    """None: what the thresholds leave (1 %) for `paper`, nothing for the others."""
    suppressed: Suppressed = "drop"
    """Left out, kept with blanks, or left out and given back next to the release."""
    numbers: Numbers = "interval"
    numbers_by_column: Mapping[str, Numbers] = field(default_factory=dict)
    nice: bool = False
    """Put the bounds of ranges on a grid that all classes of a column share."""
    nice_by_column: Mapping[str, bool] = field(default_factory=dict)
    categories: Categories = "label"
    """The lowest label over a class's values, or the set of them."""
    categories_by_column: Mapping[str, Categories] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    """How much a loss in a quasi-identifier matters, next to 1 for the others."""
    inline_below: int = 1000
    """Partitions with fewer rows are solved in place: cuts can be undone (§3.5)."""
    exclude: tuple[str, ...] = ()
    """Quasi-identifiers left out of the minima that thresholds are compared with."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    null_values: tuple[str, ...] = ("",)
    """Texts that stand for a missing value, next to the empty one, in every column of
    text that the spec names: in CSV files, in other tables, and in the release."""
    class_id: str | None = None
    """The column that gets the number of each row's class; None: there is none."""
    shuffle: int | None = None
    """Seed of a row order that depends on the released cells alone; None: kept."""
    guard_formulas: bool = False
    """Of CSV files: an apostrophe before text that a spreadsheet would run."""

    def __post_init__(self) -> None:
        check_policy(self.policy)
        if isinstance(self.policy, FunnelPolicy):
            self.policy.bind(self.quasi_identifiers)
        _check_models(self)
        _check_columns(self)
        _check_options(self)
        _check_population(self)
        _check_patterns(self)

    @property
    def min_rows(self) -> int:
        """Rows below which no class can pass every model."""
        return max(model.min_rows for model in self.models)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns the models read, in the order they are first named."""
        named = (model.column for model in self.models)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def equity(self) -> str | None:
        """The column whose groups should lose about as much as each other."""
        return self.policy.equity if isinstance(self.policy, BestPolicy) else None

    @property
    def counted(self) -> tuple[str, ...]:
        """Columns that tuples are counted by, next to the quasi-identifiers."""
        if self.equity is None or self.equity in self.quasi_identifiers:
            return self.sensitive
        return tuple(dict.fromkeys((*self.sensitive, self.equity)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the spec names."""
        weight = () if self.weight is None else (self.weight,)
        named = (*self.quasi_identifiers, *self.counted, *self.removed)
        return tuple(dict.fromkeys((*named, *self.pseudonyms, *weight, *self.accept)))

    @property
    def removed(self) -> tuple[str, ...]:
        """Columns that are not in the release: identifiers and the unit."""
        is_gone = self.unit is not None and self.unit not in self.pseudonyms
        unit = (self.unit,) if is_gone and self.unit is not None else ()
        return tuple(dict.fromkeys((*self.identifiers, *unit)))

    @property
    def is_unit_removed(self) -> bool:
        """Tell whether there is a unit, and the release does not have it."""
        return self.unit is not None and self.unit in self.removed

    def carried(self, columns: Iterable[str]) -> list[str]:
        """Return those of a table's columns that the engine never sees.

        They are released as they are, or as pseudonyms.
        """
        named = {*self.quasi_identifiers, *self.sensitive, *self.removed}
        return [name for name in columns if name not in named]

    @property
    def population(self) -> Any:  # noqa: ANN401
        """The table's population, if a model has one: a frame or a path."""
        found = (getattr(model, "population", None) for model in self.models)
        return next((table for table in found if table is not None), None)

    def budget(self, n_rows: int) -> int:
        """Return the rows that may be suppressed out of ``n_rows``."""
        if self.population is not None:
            return 0
        if self.suppress is not None:
            return self.suppress.whole_rows(n_rows)
        kept = self.thresholds.pct_non_suppressed
        if kept is None or not isinstance(self.policy, PaperPolicy):
            return 0
        share = 1 - exact(kept, "pct_non_suppressed")
        return Suppression(share=share).whole_rows(n_rows)

    @property
    def missing_rule(self) -> Missing:
        """How missing values are treated: as asked, or as the policy's default says."""
        if self.missing is not None:
            return self.missing
        is_value = isinstance(self.policy, BestPolicy) or self.population is not None
        return "value" if is_value else "pattern"

    def format_of(self, column: str) -> Numbers:
        """Return how numbers of ``column`` are released."""
        return self.numbers_by_column.get(column, self.numbers)

    def is_nice(self, column: str) -> bool:
        """Tell whether bounds of ``column`` are put on a grid."""
        return self.nice_by_column.get(column, self.nice)

    def bounds_of(self, column: str) -> tuple[str, ...]:
        """Return the names a number is released under if not its own."""
        return bound_names(column) if self.format_of(column) == "bounds" else ()

    @property
    def leaves_out(self) -> bool:
        """Tell whether suppressed rows are not in the release, not even blank."""
        return self.suppressed != "blank"

    def categories_of(self, column: str) -> Categories:
        """Return how categories of ``column`` are released."""
        return self.categories_by_column.get(column, self.categories)

    def domain_key(self, column: str, key: Key) -> bytes:
        """Return the key that makes the pseudonyms of ``column``."""
        return key.derive("pseudonyms", self.pseudonym_domains.get(column, column))

    def uncovered_of(self, column: str) -> Uncovered:
        """Return what becomes of values that the hierarchy of ``column`` lacks."""
        return self.uncovered_by_column.get(column, self.uncovered)

    def is_flat(self, column: str) -> bool:
        """Tell whether there are no groups between the column's values and the root."""
        entry = self.hierarchies.get(column)
        return entry is None or isinstance(entry, Flat)

    def weight_of(self, column: str) -> float:
        """Return how much a loss in ``column`` matters."""
        return float(self.weights.get(column, 1.0))

    def to_json(self) -> dict[str, Any]:
        """Return the spec as plain values; hierarchies by digest, not by content."""
        plain: dict[str, Any] = {
            item.name: getattr(self, item.name) for item in dataclasses.fields(self)
        }
        plain["models"] = [_describe(model) for model in self.models]
        plain["missing"] = self.missing_rule
        plain["policy"] = describe_policy(self.policy)
        plain["hierarchies"] = {
            name: entry.to_json()
            if isinstance(entry, Builder)
            else hierarchy_digest(entry)
            for name, entry in self.hierarchies.items()
        }
        plain["uncovered_by_column"] = dict(self.uncovered_by_column)
        plain["thresholds"] = dataclasses.asdict(self.thresholds)
        suppress = self.suppress
        plain["suppress"] = None if suppress is None else str(suppress)
        plain["numbers_by_column"] = dict(self.numbers_by_column)
        plain["categories_by_column"] = dict(self.categories_by_column)
        plain["nice_by_column"] = dict(self.nice_by_column)
        plain["pseudonym_domains"] = dict(self.pseudonym_domains)
        plain["weights"] = {name: self.weight_of(name) for name in self.weights}
        result: dict[str, Any] = json.loads(json.dumps(plain))
        if suppress is not None and suppress.multiplier != 1:
            result["suppress_multiplier"] = float(suppress.multiplier)
        return result


def bound_names(column: str) -> tuple[str, str]:
    """Return what the bounds of a number are called where they are columns."""
    return f"{column}_min", f"{column}_max"


def look_alikes(spec: Spec, columns: Iterable[str]) -> list[str]:
    """Return the columns that are called like bounds of a number shown beside them.

    Columns that the spec names are judged by their own role, or accepted as they are.
    """
    names = set(columns)
    others = names.difference(spec.columns)
    return [
        bound
        for name in spec.quasi_identifiers
        for bound in bound_names(name)
        if name in names and bound in others
    ]


def check_look_alikes(spec: Spec, columns: Iterable[str]) -> None:
    """Refuse to carry columns that look like bounds of a quasi-identifier.

    Raises:
        SpecError: there are some; the verifier would take them for what is released.
    """
    if found := look_alikes(spec, columns):
        raise SpecError(
            f"columns {found} are called like bounds of a quasi-identifier, and would "
            "be released as they are",
            hint="make them quasi-identifiers or identifiers, rename them, or accept "
            "them (accept) if they say nothing about persons",
        )


def _describe(model: PrivacyModel) -> dict[str, Any]:
    """Return a model's plain fields; what it protects by value is only counted.

    Of a file its name is told, because folders are often named after people.
    """
    fields = {
        item.name: getattr(model, item.name)
        for item in dataclasses.fields(model)  # type: ignore[arg-type]
    }
    told: dict[str, Any] = {"name": model.title, "model": type(model).__name__}
    for name, value in fields.items():
        if isinstance(value, int | float | str):
            told[name] = value
        elif isinstance(value, Path):
            told[name] = value.name
        elif isinstance(value, Hierarchy):
            told[name] = hierarchy_digest(value)
        elif isinstance(value, tuple):
            told[f"n_{name}"] = len(value)
    return told


def hierarchy_digest(hierarchy: Hierarchy) -> str:
    """Return a digest of the tree's labels and shape."""
    digest = hashlib.sha256(json.dumps(hierarchy.labels).encode())
    for array in (hierarchy.low, hierarchy.high, hierarchy.n_children):
        digest.update(array.astype("<i4").tobytes())
    return digest.hexdigest()


def _check_columns(spec: Spec) -> None:
    if not spec.quasi_identifiers:
        raise SpecError(
            "no quasi-identifier",
            hint="name at least one: --qid COLUMN, or in the spec",
            key=("quasi_identifiers",),
        )
    _check_roles(spec)
    by_column = ("hierarchies", "numbers_by_column", "categories_by_column")
    for key in (
        *by_column,
        "nice_by_column",
        "uncovered_by_column",
        "weights",
        "exclude",
    ):
        stray = sorted(set(getattr(spec, key)) - set(spec.quasi_identifiers))
        if stray:
            raise SpecError(
                f"{key} for {stray}, which are not quasi-identifiers",
                hint="add them to quasi_identifiers, or leave them out here",
            )
    if spec.equity in (*spec.removed, *spec.pseudonyms):
        raise SpecError(
            f"best.equity is {spec.equity!r}, which is not released as it is",
            hint="name a column that passes through",
            key=("best", "equity"),
        )
    _check_breakout(spec)
    _check_domains(spec)


def _check_breakout(spec: Spec) -> None:
    """Refuse breakout thresholds of columns that are never cut."""
    if not isinstance(spec.policy, PaperPolicy):
        return
    known = spec.quasi_identifiers
    for name, _ in spec.policy.breakout_thresholds:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            raise SpecError(
                f"paper.breakout_thresholds for {name!r}, which is not a "
                "quasi-identifier",
                hint=f"did you mean {close[0]!r}?" if close else f"those: {[*known]}",
                key=("paper", "breakout_thresholds", name),
            )


def _check_domains(spec: Spec) -> None:
    for name, domain in spec.pseudonym_domains.items():
        if name not in spec.pseudonyms:
            raise SpecError(
                f"pseudonym_domains for {name!r}, which gets no pseudonyms",
                hint="add it to pseudonyms, or leave it out here",
            )
        if not isinstance(domain, str) or not domain:
            raise SpecError("a domain of pseudonyms is a text, such as 'person'")


def _check_roles(spec: Spec) -> None:
    """Refuse a column with two roles; a unit may be an identifier or a pseudonym."""
    roles: dict[str, str] = {}
    for role in _ROLES:
        asked = getattr(spec, role)
        single = () if asked is None else (asked,)
        for name in asked if isinstance(asked, tuple | list) else single:
            if not isinstance(name, str):
                raise SpecError(f"{role} are column names, got {type(name).__name__}")
            if name in roles and not _may_be_both(roles[name], role):
                raise SpecError(
                    f"column {name!r} named twice: {roles[name]}, {role}",
                    hint="give it one role",
                    key=("models",) if role == "sensitive" else (role,),
                )
            roles.setdefault(name, role)


def _may_be_both(first: str, second: str) -> bool:
    return "unit" in (first, second) and bool(
        {first, second} & {"identifiers", "pseudonyms"}
    )


def _check_models(spec: Spec) -> None:
    if not spec.models:
        raise SpecError("no privacy model", hint="the usual one is k = 5")
    for model in spec.models:
        if not isinstance(model, PrivacyModel):
            raise SpecError(
                f"{type(model).__name__} is not a privacy model",
                hint="such as KAnonymity(5)",
            )


def _check_population(spec: Spec) -> None:
    """Refuse what cannot be said of a population that is not released."""
    if spec.population is None:
        return
    tables = [getattr(model, "population", None) for model in spec.models]
    wrong = {
        "two populations": any(x not in (None, spec.population) for x in tables)
        if isinstance(spec.population, Path)
        else any(x is not None and x is not spec.population for x in tables),
        "a unit": spec.unit is not None,
        "a suppression budget": spec.suppress not in (None, *_NO_SUPPRESSION),
        "missing = 'pattern'": spec.missing == "pattern",
        "best.equity": spec.equity is not None,
        "numbers as mean, median, midpoint or sample": any(
            spec.format_of(name) not in RANGES for name in spec.quasi_identifiers
        ),
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise SpecError(
                f"a model with a population does not go with {what}",
                hint="leave one of them out",
            )


def _check_options(spec: Spec) -> None:
    for key, allowed in CHOICES.items():
        asked = spec.missing_rule if key == "missing" else getattr(spec, key)
        check_choice(key, asked, allowed)
    for key in FORMATS:
        for name, how in getattr(spec, f"{key}_by_column").items():
            with about(key, name):
                check_choice(f"{key} of {name!r}", how, CHOICES[key])
    for name, entry in spec.hierarchies.items():
        check_entry(name, entry, spec.uncovered_of(name))
    for name, weight in spec.weights.items():
        _check_weight(name, weight)
    _check_shape(spec)
    if not isinstance(spec.inline_below, int) or spec.inline_below < 0:
        raise SpecError("inline_below is a number of rows >= 0")
    _check_shown(spec)
    if (
        isinstance(spec.policy, OriginalPolicy)
        and spec.suppress not in (None, *_NO_SUPPRESSION)
        and spec.small_patterns != "suppress"
    ):
        raise SpecError(
            "policy 'original' suppresses nothing, but a budget is given",
            hint="drop suppress, take policy 'best' or 'paper', or spend it on missing "
            "patterns: small_patterns = 'suppress'",
            key=("suppress",),
        )


def _check_shown(spec: Spec) -> None:
    """Refuse formats that are not text, where the policy says what classes show."""
    if getattr(type(spec.policy), "show", None) is None:
        return
    for key, wanted in (("numbers", "interval"), ("categories", "label")):
        asked = {getattr(spec, key), *getattr(spec, f"{key}_by_column").values()}
        if asked != {wanted}:
            raise SpecError(
                f"{spec.policy.name} says what classes show, and so does {key}",
                hint=f"leave {key} out",
                key=(key,),
            )


def _check_patterns(spec: Spec) -> None:
    if spec.small_patterns == "suppress" and spec.missing_rule != "pattern":
        raise no_patterns()


def no_patterns() -> SpecError:
    """Return what is wrong with `small_patterns` where there are none."""
    return SpecError(
        "small_patterns means nothing with missing = 'value': there are no patterns",
        hint="say missing = 'pattern', or leave it out",
    )


def _check_shape(spec: Spec) -> None:
    """Check what the release looks like beyond the formats of its columns."""
    if not isinstance(spec.guard_formulas, bool):
        raise SpecError("guard_formulas is true or false")
    for is_nice in (spec.nice, *spec.nice_by_column.values()):
        if not isinstance(is_nice, bool):
            raise SpecError("nice is true or false, or a table of them by column")
    shuffle = 0 if spec.shuffle is None else spec.shuffle
    if isinstance(shuffle, bool) or not isinstance(shuffle, int):
        raise SpecError("shuffle is a whole number")
    if spec.class_id is not None and not (
        isinstance(spec.class_id, str) and spec.class_id
    ):
        raise SpecError("class_id is the name of a new column")


def _check_weight(name: str, weight: object) -> None:
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0.0 < weight <= sys.float_info.max:  # type: ignore[operator]
        raise SpecError(
            f"the weight of {name!r} is a finite number above 0", key=("weights", name)
        )


def check_choice(key: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not one of those allowed."""
    if value not in allowed:
        raise SpecError(f"{key} is one of {', '.join(allowed)}")


@contextmanager
def about(*key: str | int) -> Iterator[None]:
    """Say of errors below which table of the spec they are about."""
    try:
        yield
    except SpecError as error:
        error.key = (*key, *error.key)
        raise

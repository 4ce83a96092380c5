"""Spec: everything that can change a released cell, as one value."""

import dataclasses
import difflib
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from core_mondrian.errors import SpecError, about
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.codes import Flat
from core_mondrian.hierarchies.load import check_entry
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.hierarchies.uncovered import Uncovered
from core_mondrian.models.base import PrivacyModel
from core_mondrian.runtime.array_types import Frame
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.spec.keys import (
    BY_COLUMN,
    CHOICES,
    FORMATS,
    KEYS,
    Categories,
    Missing,
    Numbers,
    SmallPatterns,
    SpecKeys,
    Suppressed,
)
from core_mondrian.spec.policies import (
    BestPolicy,
    FunnelPolicy,
    OriginalPolicy,
    PaperPolicy,
    Policy,
    check_policy,
    describe_policy,
)
from core_mondrian.spec.reading import check_keys, read_keys
from core_mondrian.spec.suppression import Suppression, exact
from core_mondrian.spec.thresholds import Thresholds
from core_mondrian.tables.keys import Key

ModelLike: TypeAlias = PrivacyModel | str | JsonMapping

_ROLES = (
    *("quasi_identifiers", "sensitive", "identifiers", "unit", "pseudonyms"),
    "weight",
)
_POSITIONAL = ("quasi_identifiers", "models")
RANGES = ("interval", "bounds", "struct")
_NO_SUPPRESSION = (Suppression(), Suppression(rows=0))


class _SpecType(type):
    """Reads what a spec is made of, so that lists, names and short forms all work."""

    def __call__(cls, *args: Any, **keys: Any) -> "Spec":  # noqa: ANN401
        """Build a spec; columns and models may stand alone, all else has a key."""
        if len(args) > len(_POSITIONAL):
            raise SpecError(
                "only quasi-identifiers and models need no key",
                hint='for example Spec(["age", "sex"], k=5, suppress="1%")',
            )
        given = dict(zip(_POSITIONAL, args, strict=False))
        if twice := sorted(given.keys() & keys):
            raise SpecError(f"{twice[0]} is given twice", hint="leave one of them out")
        return cls.of_plain({**given, **keys})

    def of_plain(cls, given: JsonMapping, folder: Path = Path()) -> "Spec":
        """Build a spec from keys; files are relative to ``folder``."""
        spec: Spec = super().__call__(**read_keys(given, folder))
        return spec


@dataclass(frozen=True, slots=True)
class Spec(SpecKeys, metaclass=_SpecType):
    """What a release is to be: columns, models, policy and formats.

    >>> Spec(["age", "sex"], k=5, policy="best", suppress="1%").min_rows
    5

    Every key may be given as in a spec file: one column or a list of them, a policy by
    its name with its options in a table of that name, a model by its name and
    parameters, a share such as ``"1%"``, a hierarchy as a file, a short form such as
    ``"prefix:2"``, a mapping from values to groups, or a table with a column per level.
    """

    if TYPE_CHECKING:  # what `_SpecType` takes, from the declaration of the keys

        def __init__(  # noqa: PLR0913
            self,
            # parameters of keys: begin (python -m website.spec_keys writes them)
            quasi_identifiers: str | Iterable[str],
            models: "ModelLike | Iterable[ModelLike]" = (),
            *,
            k: int | None = None,
            identifiers: str | Iterable[str] = (),
            unit: str | None = None,
            pseudonyms: str | Iterable[str] = (),
            pseudonym_domains: Mapping[str, str] = ...,
            weight: str | None = None,
            accept: str | Iterable[str] = (),
            policy: Policy | type[Policy] | str = "best",
            missing: Missing | None = None,
            small_patterns: SmallPatterns = "repair",
            suppress: Suppression | str | int | None = None,
            suppress_multiplier: float = 1,
            suppressed: Suppressed = "drop",
            numbers: Numbers | Mapping[str, Numbers] = "interval",
            numbers_by_column: Mapping[str, Numbers] = ...,
            nice: bool | Mapping[str, bool] = False,
            nice_by_column: Mapping[str, bool] = ...,
            categories: Categories | Mapping[str, Categories] = "label",
            categories_by_column: Mapping[str, Categories] = ...,
            hierarchies: Mapping[str, Any] = ...,
            uncovered: Uncovered | Mapping[str, Uncovered] = "error",
            uncovered_by_column: Mapping[str, Uncovered] = ...,
            weights: Mapping[str, float] = ...,
            target: str | None = None,
            inline_below: int = 1000,
            class_id: str | None = None,
            shuffle: int | None = None,
            guard_formulas: bool = False,
            exclude: str | Iterable[str] = (),
            null_values: str | Iterable[str] = ("",),
            thresholds: Thresholds | Mapping[str, float | None] = ...,
            best: Mapping[str, Any] = ...,
            paper: Mapping[str, Any] = ...,
            original: Mapping[str, Any] = ...,
            # parameters of keys: end
        ) -> None: ...

    def __post_init__(self) -> None:
        check_policy(self.policy)
        if isinstance(self.policy, FunnelPolicy):
            self.policy.bind(self.quasi_identifiers)
        _check_columns(self)
        _check_options(self)
        if getattr(type(self.policy), "show", None) is not None:
            _check_formats(self)
        if self.population is not None:
            _check_population(self)
        if self.small_patterns == "suppress" and self.missing_rule != "pattern":
            raise no_patterns()

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
    def sensitive_and_equity(self) -> tuple[str, ...]:
        """Columns that tuples are counted by, besides the quasi-identifiers."""
        if self.equity is None or self.equity in self.quasi_identifiers:
            return self.sensitive
        return tuple(dict.fromkeys((*self.sensitive, self.equity)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the spec names."""
        weight = () if self.weight is None else (self.weight,)
        target = () if self.target is None else (self.target,)
        named = (
            *self.quasi_identifiers,
            *self.sensitive_and_equity,
            *self.removed,
            *target,
        )
        return tuple(dict.fromkeys((*named, *self.pseudonyms, *weight, *self.accept)))

    @property
    def removed(self) -> tuple[str, ...]:
        """Columns that are not in the release: identifiers and the unit."""
        is_gone = self.unit is not None and self.unit not in self.pseudonyms
        unit = (self.unit,) if is_gone and self.unit is not None else ()
        return tuple(dict.fromkeys((*self.identifiers, *unit)))

    @property
    def is_unit_removed(self) -> bool:
        """Return whether there is a unit, and the release does not have it."""
        return self.unit is not None and self.unit in self.removed

    def carried(self, columns: Iterable[str]) -> list[str]:
        """Return those of a table's columns that the engine never sees.

        They are released as they are, or as pseudonyms.
        """
        named = {*self.quasi_identifiers, *self.sensitive, *self.removed}
        return [name for name in columns if name not in named]

    @property
    def population(self) -> "Frame | Path | None":
        """The table's population, if a model has one: a frame or a path."""
        populations = (getattr(model, "population", None) for model in self.models)
        return next((table for table in populations if table is not None), None)

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
        """Return whether bounds of ``column`` are put on a grid."""
        return self.nice_by_column.get(column, self.nice)

    def bounds_of(self, column: str) -> tuple[str, ...]:
        """Return the names a number is released under if not its own."""
        return bound_names(column) if self.format_of(column) == "bounds" else ()

    @property
    def leaves_out(self) -> bool:
        """Return whether suppressed rows are not in the release, not even blank."""
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
        """Return whether no groups lie between the column's values and the root."""
        entry = self.hierarchies.get(column)
        return entry is None or isinstance(entry, Flat)

    def weight_of(self, column: str) -> float:
        """Return how much a loss in ``column`` matters."""
        return float(self.weights.get(column, 1.0))

    def to_json(self) -> JsonObject:
        """Return the spec as plain values; hierarchies by digest, not by content."""
        plain: JsonObject = {
            item.name: dict(value) if isinstance(value, Mapping) else value
            for item in dataclasses.fields(self)
            for value in [getattr(self, item.name)]
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
        plain["thresholds"] = dataclasses.asdict(self.thresholds)
        suppress = self.suppress
        plain["suppress"] = None if suppress is None else str(suppress)
        plain["weights"] = {name: self.weight_of(name) for name in self.weights}
        result: JsonObject = json.loads(json.dumps(plain))
        if suppress is not None and suppress.multiplier != 1:
            result["suppress_multiplier"] = float(suppress.multiplier)
        return result


def _with_keys(text: str) -> str:
    """Return a docstring with a line for every key, for `help`."""
    width = max(map(len, KEYS))
    lines = [f"        {key:<{width}}  {one.meaning}" for key, one in KEYS.items()]
    return "\n".join([text.rstrip(), "", "    Keys:", *lines, "    "])


if Spec.__doc__:  # else Python runs without docstrings
    Spec.__doc__ = _with_keys(Spec.__doc__)


def spec_from_mapping(asked: JsonMapping, folder: Path = Path()) -> Spec:
    """Build a spec from plain values; files are relative to ``folder``.

    Raises:
        SpecError: an unknown key, a value of the wrong kind, or a contradiction.
    """
    spec = Spec.of_plain(asked, folder)
    if "small_patterns" in asked and spec.missing_rule != "pattern":
        raise no_patterns()
    return spec


def as_spec(asked: Spec | str | Iterable[str] | None, keys: JsonMapping) -> Spec:
    """Return a spec as it is, or that of quasi-identifiers and other keys.

    Raises:
        SpecError: there are keys beside a whole spec, or they make none.
    """
    if asked is None:
        if "quasi_identifiers" not in keys:
            check_keys(keys)  # one of them may be meant so
            raise SpecError(
                "nothing says which columns others may know",
                hint="name them, and what they are protected by: ['age', 'sex'], k=5",
            )
        return Spec(**keys)
    if not isinstance(asked, Spec):
        return Spec(asked, **keys)
    if keys:
        raise SpecError(
            f"{', '.join(keys)} beside a spec",
            hint=f"put it into the spec: Spec(..., {next(iter(keys))}=...)",
        )
    return asked


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
    if alike := look_alikes(spec, columns):
        raise SpecError(
            f"columns {alike} are called like bounds of a quasi-identifier, and would "
            "be released as they are",
            hint="make them quasi-identifiers or identifiers, rename them, or accept "
            "them (accept) if they say nothing about persons",
        )


def _describe(model: PrivacyModel) -> JsonObject:
    """Return a model's plain fields; what it protects by value is only counted.

    Of a file its name is shown, because folders are often named after people.
    """
    fields = {
        item.name: getattr(model, item.name)
        for item in dataclasses.fields(model)  # type: ignore[arg-type]
    }
    plain: JsonObject = {"name": model.title, "model": type(model).__name__}
    for name, value in fields.items():
        if isinstance(value, int | float | str):
            plain[name] = value
        elif isinstance(value, Path):
            plain[name] = value.name
        elif isinstance(value, Hierarchy):
            plain[name] = hierarchy_digest(value)
        elif isinstance(value, tuple):
            plain[f"n_{name}"] = len(value)
    return plain


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
            hint="name at least one: ['age', 'sex'] in Python, --qid for each in a "
            "command",
            key=("quasi_identifiers",),
        )
    _check_roles(spec)
    by_column = (f"{key}_by_column" for key in BY_COLUMN)
    for key in ("hierarchies", *by_column, "weights", "exclude"):
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
    if spec.target is not None:
        _check_target(spec)
    if isinstance(spec.policy, PaperPolicy):
        _check_breakout(spec, spec.policy)
    if spec.pseudonym_domains:
        _check_domains(spec)


def _check_target(spec: Spec) -> None:
    """Refuse a column that no model could be trained on, and other policies."""
    fault = None
    if spec.target in spec.quasi_identifiers:
        fault = "is a quasi-identifier: it is generalized, and a model needs it exact"
    elif spec.target in (*spec.removed, *spec.pseudonyms):
        fault = "is not released as it is"
    if fault:
        raise SpecError(
            f"target {spec.target!r} {fault}",
            hint="name a column that passes through, or a sensitive one",
            key=("target",),
        )
    if not isinstance(spec.policy, BestPolicy):
        raise SpecError(
            f"policy {spec.policy.name!r} does not weigh columns, as target asks",
            hint="take policy 'best', or leave target out",
            key=("target",),
        )


def check_rows_are_here(spec: Spec, where: str) -> None:
    """Refuse what takes the rows themselves; ``where`` says where they are instead.

    Raises:
        SpecError: a target is named.
    """
    if spec.target is not None:
        raise SpecError(
            f"target is measured on rows in memory, and these are {where}",
            hint="measure it on a table or a sample in memory (column_weights), and "
            "give what it says as weights",
            key=("target",),
        )


def _check_breakout(spec: Spec, policy: PaperPolicy) -> None:
    """Refuse breakout thresholds of columns that are never cut."""
    names = spec.quasi_identifiers
    for name, _ in policy.breakout_thresholds:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            raise SpecError(
                f"paper.breakout_thresholds for {name!r}, which is not a "
                "quasi-identifier",
                hint=f"did you mean {close[0]!r}?" if close else f"those: {[*names]}",
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
        columns = getattr(spec, role)
        single = () if columns is None else (columns,)
        for name in columns if isinstance(columns, tuple | list) else single:
            if not isinstance(name, str):
                raise SpecError(f"{role} are column names, got {type(name).__name__}")
            if name in roles and not _may_be_both(roles[name], role):
                raise SpecError(
                    f"column {name!r} named twice: "
                    + ", ".join(dict.fromkeys((roles[name], role))),
                    hint="give it one role" if role != roles[name] else "name it once",
                    key=("models",) if role == "sensitive" else (role,),
                )
            roles.setdefault(name, role)


def _may_be_both(first: str, second: str) -> bool:
    return "unit" in (first, second) and bool(
        {first, second} & {"identifiers", "pseudonyms"}
    )


def _check_population(spec: Spec) -> None:
    """Refuse what cannot be said of a population that is not released."""
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
        value = spec.missing_rule if key == "missing" else getattr(spec, key)
        check_choice(key, value, allowed)
    for key in FORMATS:
        for name, how in getattr(spec, f"{key}_by_column").items():
            with about(key, name):
                check_choice(f"{key} of {name!r}", how, CHOICES[key])
    for name, entry in spec.hierarchies.items():
        check_entry(name, entry, spec.uncovered_of(name))
    for name, weight in spec.weights.items():
        _check_weight(name, weight)
    _check_shape(spec)
    if spec.inline_below < 0:
        raise SpecError("inline_below is a number of rows >= 0")
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


def _check_formats(spec: Spec) -> None:
    """Refuse formats that are not text: the policy says what classes show."""
    for key, wanted in (("numbers", "interval"), ("categories", "label")):
        formats = {getattr(spec, key), *getattr(spec, f"{key}_by_column").values()}
        if formats != {wanted}:
            raise SpecError(
                f"{spec.policy.name} says what classes show, and so does {key}",
                hint=f"leave {key} out",
                key=(key,),
            )


def no_patterns() -> SpecError:
    """Return what is wrong with `small_patterns` where there are none."""
    return SpecError(
        "small_patterns means nothing with missing = 'value': there are no patterns",
        hint="say missing = 'pattern', or leave it out",
    )


def _check_shape(spec: Spec) -> None:
    """Check what the release looks like beyond the formats of its columns."""
    for is_nice in (spec.nice, *spec.nice_by_column.values()):
        if not isinstance(is_nice, bool):
            raise SpecError("nice is true or false, or a table of them by column")
    if spec.class_id == "":
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
        close = difflib.get_close_matches(str(value), allowed, n=1)
        raise SpecError(
            f"{key} is one of {', '.join(allowed)}",
            hint=f"did you mean {close[0]!r}?" if close else None,
        )

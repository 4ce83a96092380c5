"""Spec: everything that can change a released cell, as one value; TOML in and out."""

import dataclasses
import difflib
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from core_mondrian.budget import Suppression, exact, parse_suppression
from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import UNCOVERED, Builder, Uncovered
from core_mondrian.hierarchies.load import check_entry, load_hierarchies
from core_mondrian.hierarchy import Hierarchy
from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.models.load import model_from_mapping
from core_mondrian.policies import (
    POLICIES,
    BestPolicy,
    OriginalPolicy,
    PaperPolicy,
    Policy,
)
from core_mondrian.toml_lines import find_line

Numbers = Literal[
    "interval", "bounds", "struct", "mean", "median", "midpoint", "sample"
]
Categories = Literal["label", "set"]
Missing = Literal["pattern", "value"]
Suppressed = Literal["drop", "blank", "apart"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "numbers": get_args(Numbers),
    "categories": ("label", "set"),
    "missing": ("pattern", "value"),
    "suppressed": get_args(Suppressed),
    "uncovered": UNCOVERED,
}
_FORMATS = ("numbers", "categories")
_ROLES = (
    *("quasi_identifiers", "sensitive", "identifiers", "unit", "pseudonyms"),
    "weight",
)
_RANGES = ("interval", "bounds", "struct")
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
    persons. It is removed from the release, unless it is among the pseudonyms too.
    None: every row is a person."""
    pseudonyms: tuple[str, ...] = ()
    """Identifiers that are replaced by keyed pseudonyms instead of being removed."""
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
    suppress: Suppression | None = None
    """None: what the thresholds leave (1 %) for `paper`, nothing for the others."""
    suppressed: Suppressed = "drop"
    """Left out, kept with blanks, or left out and given back next to the release."""
    numbers: Numbers = "interval"
    numbers_by_column: Mapping[str, Numbers] = field(default_factory=dict)
    nice: bool = False
    """Round the bounds of ranges outward, to round numbers."""
    nice_by_column: Mapping[str, bool] = field(default_factory=dict)
    seed: int = 0
    """What `sample` draws by, next to the content of a class."""
    categories: Categories = "label"
    """The lowest label over a class's values, or the set of them."""
    categories_by_column: Mapping[str, Categories] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    """How much a loss in a quasi-identifier matters, next to 1 for the others."""
    inline_below: int = 1000
    """Partitions with fewer rows are solved in place, with backtracking (§3.5)."""
    exclude: tuple[str, ...] = ()
    """Quasi-identifiers left out of the minima that thresholds are compared with."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    null_values: tuple[str, ...] = ("",)
    """What a missing value looks like in a CSV file."""
    class_id: str | None = None
    """The column that gets the number of each row's class; None: there is none."""
    shuffle: int | None = None
    """Seed of a row order that depends on the released cells alone; None: kept."""

    def __post_init__(self) -> None:
        _check_models(self)
        _check_columns(self)
        _check_options(self)
        _check_population(self)

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
        return (*self.identifiers, *((self.unit,) if is_gone else ()))

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
        """Tell whether bounds of ``column`` are rounded."""
        return self.nice_by_column.get(column, self.nice)

    def bounds_of(self, column: str) -> tuple[str, ...]:
        """Return the names a number is released under if not its own."""
        if self.format_of(column) != "bounds":
            return ()
        return f"{column}_min", f"{column}_max"

    @property
    def leaves_out(self) -> bool:
        """Tell whether suppressed rows are not in the release, not even blank."""
        return self.suppressed != "blank"

    def categories_of(self, column: str) -> Categories:
        """Return how categories of ``column`` are released."""
        return self.categories_by_column.get(column, self.categories)

    def uncovered_of(self, column: str) -> Uncovered:
        """Return what becomes of values that the hierarchy of ``column`` lacks."""
        return self.uncovered_by_column.get(column, self.uncovered)

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
        plain["policy"] = {"name": self.policy.name, **dataclasses.asdict(self.policy)}
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
        plain["seed"] = "given" if self.seed else "default"
        plain["weights"] = {name: self.weight_of(name) for name in self.weights}
        result: dict[str, Any] = json.loads(json.dumps(plain))
        if suppress is not None and suppress.multiplier != 1:
            result["suppress_multiplier"] = float(suppress.multiplier)
        return result


def _describe(model: PrivacyModel) -> dict[str, Any]:
    """Return a model's plain fields; what it protects by value is only counted."""
    fields = {
        item.name: getattr(model, item.name)
        for item in dataclasses.fields(model)  # type: ignore[arg-type]
    }
    told: dict[str, Any] = {"name": model.title, "model": type(model).__name__}
    for name, value in fields.items():
        if isinstance(value, int | float | str):
            told[name] = value
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
            raise SpecError(f"{key} for {stray}, which are not quasi-identifiers")
    if spec.equity in (*spec.removed, *spec.pseudonyms):
        raise SpecError(
            f"best.equity is {spec.equity!r}, which is not released as it is",
            key=("best", "equity"),
        )
    known = {*spec.quasi_identifiers, *spec.removed}
    if gone := sorted(set(spec.accept) & known):
        raise SpecError(
            f"accept for {gone}, which are not released as they are",
            hint="only columns that pass through are warned about",
        )


def _check_roles(spec: Spec) -> None:
    """Refuse a column with two roles; only a unit may be a pseudonym as well."""
    roles: dict[str, str] = {}
    for role in _ROLES:
        asked = getattr(spec, role)
        single = () if asked is None else (asked,)
        for name in asked if isinstance(asked, tuple | list) else single:
            if not isinstance(name, str):
                raise SpecError(f"{role} are column names, got {type(name).__name__}")
            if name in roles and {roles[name], role} != {"unit", "pseudonyms"}:
                raise SpecError(
                    f"column {name!r} named twice: {roles[name]}, {role}",
                    key=("models",) if role == "sensitive" else (role,),
                )
            roles[name] = role


def _check_models(spec: Spec) -> None:
    if not spec.models:
        raise SpecError("no privacy model", hint="the usual one is k = 5")
    for model in spec.models:
        if not isinstance(model, PrivacyModel):
            raise SpecError(f"{type(model).__name__} is not a privacy model")


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
            spec.format_of(name) not in _RANGES for name in spec.quasi_identifiers
        ),
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise SpecError(f"a model with a population does not go with {what}")


def _check_options(spec: Spec) -> None:
    for key, allowed in _CHOICES.items():
        asked = spec.missing_rule if key == "missing" else getattr(spec, key)
        _check_choice(key, asked, allowed)
    for key in _FORMATS:
        for name, how in getattr(spec, f"{key}_by_column").items():
            with _about(key, name):
                _check_choice(f"{key} of {name!r}", how, _CHOICES[key])
    for name, entry in spec.hierarchies.items():
        check_entry(name, entry, spec.uncovered_of(name))
    for name, weight in spec.weights.items():
        _check_weight(name, weight)
    _check_shape(spec)
    if not isinstance(spec.inline_below, int) or spec.inline_below < 0:
        raise SpecError("inline_below is a number of rows >= 0")
    if isinstance(spec.policy, OriginalPolicy) and spec.suppress not in (
        None,
        *_NO_SUPPRESSION,
    ):
        raise SpecError(
            "policy 'original' suppresses nothing, but a budget is given",
            hint="drop suppress, or take policy 'best' or 'paper'",
            key=("suppress",),
        )


def _check_shape(spec: Spec) -> None:
    """Check what the release looks like beyond the formats of its columns."""
    for is_nice in (spec.nice, *spec.nice_by_column.values()):
        if not isinstance(is_nice, bool):
            raise SpecError("nice is true or false, or a table of them by column")
    shuffle = 0 if spec.shuffle is None else spec.shuffle
    for key, number in (("seed", spec.seed), ("shuffle", shuffle)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise SpecError(f"{key} is a whole number")
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


def _check_choice(key: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SpecError(f"{key} is one of {', '.join(allowed)}")


_KEYS: dict[str, type | tuple[type, ...]] = {
    "quasi_identifiers": list,
    "identifiers": list,
    "unit": str,
    "pseudonyms": list,
    "weight": str,
    "accept": list,
    "k": int,
    "models": list,
    "policy": str,
    "missing": str,
    "suppress": (str, int),
    "suppress_multiplier": (int, float),
    "suppressed": str,
    "numbers": (str, dict),
    "categories": (str, dict),
    "nice": (bool, dict),
    "seed": int,
    "class_id": str,
    "shuffle": int,
    "weights": dict,
    "inline_below": int,
    "exclude": list,
    "null_values": list,
    "hierarchies": dict,
    "uncovered": str,
    "thresholds": dict,
    "best": dict,
    "paper": dict,
    "original": dict,
}


def spec_from_mapping(asked: Mapping[str, Any], folder: Path = Path()) -> Spec:
    """Build a spec from TOML's plain values; files are relative to ``folder``.

    Raises:
        SpecError: an unknown key, a value of the wrong kind, or a contradiction.
    """
    _check_keys(asked, _KEYS, "")
    for key, value in asked.items():
        kinds = _KEYS[key]
        is_flag = isinstance(value, bool) and key != "nice"
        if not isinstance(value, kinds) or is_flag:
            raise SpecError(f"{key} has the wrong kind: {type(value).__name__}")
    simple = (
        *("unit", "weight", "missing", "suppressed", "weights", "inline_below"),
        *("seed", "class_id", "shuffle", "uncovered"),
    )
    lists = (
        *("quasi_identifiers", "identifiers", "pseudonyms", "accept"),
        *("exclude", "null_values"),
    )
    given = {key: asked[key] for key in simple if key in asked}
    given |= {key: _texts(asked[key], key) for key in lists if key in asked}
    trees, uncovered = load_hierarchies(asked.get("hierarchies", {}), folder)
    return Spec(
        **{"quasi_identifiers": (), **given, **_formats(asked)},
        models=_models(asked, folder),
        policy=_policy(asked),
        suppress=_suppress(asked),
        hierarchies=trees,
        uncovered_by_column=uncovered,
        thresholds=_thresholds(asked.get("thresholds", {})),
    )


def _models(asked: Mapping[str, Any], folder: Path) -> tuple[PrivacyModel, ...]:
    """Return the models in ``[[models]]``, after the short form of the usual one."""
    if "k" not in asked and not asked.get("models"):
        raise SpecError("k is missing", hint="k = 5 lets nobody stand in fewer than 5")
    models: list[PrivacyModel] = [KAnonymity(asked["k"])] if "k" in asked else []
    for place, item in enumerate(asked.get("models", [])):
        with _about("models", place):
            if not isinstance(item, dict):
                raise SpecError("models are tables: [[models]], then name = ...")
            models.append(model_from_mapping(item, folder))
    return tuple(models)


@contextmanager
def _about(*key: str | int) -> Iterator[None]:
    """Say of errors below which table of the spec they are about."""
    try:
        yield
    except SpecError as error:
        error.key = (*key, *error.key)
        raise


def _check_keys(asked: Mapping[str, Any], known: Mapping[str, Any], where: str) -> None:
    for key in asked:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {sorted(known)}"
            way = (*where.split(".")[:-1], key)
            raise SpecError(
                f"unknown key {where + key!r} in the spec", hint=hint, key=way
            )


def _texts(values: list[Any], key: str) -> tuple[str, ...]:
    if any(not isinstance(value, str) for value in values):
        raise SpecError(f"{key} is a list of texts")
    return tuple(values)


def _formats(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that are one word, or a table by column with a default."""
    found: dict[str, Any] = {}
    for key in (*_FORMATS, "nice"):
        given = asked.get(key, {})
        by_column = dict(given) if isinstance(given, dict) else {"default": given}
        if "default" in by_column:
            found[key] = by_column.pop("default")
        found[f"{key}_by_column"] = by_column
    return found


def _policy(asked: Mapping[str, Any]) -> Policy:
    name = asked.get("policy", "best")
    _check_choice("policy", name, tuple(POLICIES))
    for other in POLICIES:
        if other in asked and other != name:
            raise SpecError(
                f"[{other}] is given, but the policy is {name!r}",
                hint=f"drop it, or take policy {other!r}",
                key=(other,),
            )
    options = dict(asked.get(name, {}))
    fields = {item.name: item for item in dataclasses.fields(POLICIES[name])}
    _check_keys(options, fields, f"{name}.")
    if isinstance(options.get("breakout_thresholds"), dict):
        options["breakout_thresholds"] = tuple(options["breakout_thresholds"].items())
    if options.get("rilm_epsilon") == "always":  # TOML has no null
        options["rilm_epsilon"] = None
    frozen = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in options.items()
    }
    try:
        policy: Policy = POLICIES[name](**frozen)  # type: ignore[arg-type]
    except TypeError:
        raise SpecError(
            f"[{name}] has a value of the wrong kind", key=(name,)
        ) from None
    return policy


def _suppress(asked: Mapping[str, Any]) -> Suppression | None:
    multiplier = asked.get("suppress_multiplier", 1)
    if "suppress" in asked:
        return parse_suppression(asked["suppress"], multiplier)
    if multiplier == 1:
        return None
    kept = _thresholds(asked.get("thresholds", {})).pct_non_suppressed
    if kept is None or isinstance(_policy(asked), BestPolicy):
        kept = 1  # as Spec.budget has it: a margin on nothing is nothing
    share = 1 - exact(kept, "pct_non_suppressed")
    return Suppression(share=share, multiplier=exact(multiplier, "suppress_multiplier"))


def _thresholds(asked: dict[str, Any]) -> Thresholds:
    _check_keys(
        asked, {f.name: f for f in dataclasses.fields(Thresholds)}, "thresholds."
    )
    given: dict[str, float | None] = {}
    for key, value in asked.items():
        if value != "off" and (
            isinstance(value, bool) or not isinstance(value, int | float)
        ):
            raise SpecError(f"thresholds.{key} is a number between 0 and 1, or 'off'")
        given[key] = None if value == "off" else value
    return Thresholds(**given)


def load_spec(path: Path) -> Spec:
    """Read a spec from a TOML file.

    Raises:
        SpecError: it cannot be read, is not TOML, or asks for what does not exist; the
            message names the file and, where one key is to blame, its line.
    """
    file = read_spec_file(path)
    with file.located():
        return spec_from_mapping(file.asked, path.parent)


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec file's plain values, and where they stand in it."""

    path: Path
    text: str
    asked: dict[str, Any]

    @contextmanager
    def located(self, flags: Mapping[str, Any] | None = None) -> Iterator[None]:
        """Let errors about a key of the file name the file, the line and the key.

        What ``flags`` say instead of the file is not the file's fault.
        """
        try:
            yield
        except SpecError as error:
            key = error.key or _first_word(error.message)
            if _is_given(key, flags or {}):
                raise
            where = f"spec {self.path}"
            if line := find_line(self.text, key):
                where += f", line {line}"
                if str(key[-1]) not in re.findall(r"[\w-]+", error.message):
                    where += f", key {'.'.join(str(part) for part in key)!r}"
            told = f"{where}: {error.message}"
            raise SpecError(told, hint=error.hint, key=key) from None


def read_spec_file(path: Path) -> SpecFile:
    """Read a spec file's plain values.

    Raises:
        SpecError: it cannot be read, or is not TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return SpecFile(path, text, tomllib.loads(text))
    except OSError as error:
        raise SpecError(f"spec {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(f"spec {path}: not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"spec {path}: {error}") from None


def _is_given(key: tuple[str | int, ...], flags: Mapping[str, Any]) -> bool:
    """Tell whether the flags, and not the file, say what a key is."""
    given: Any = flags
    for part in key:
        given = given.get(part) if isinstance(given, Mapping) else None
        if given is not None and not isinstance(given, Mapping):
            return True
    return False


def _first_word(message: str) -> tuple[str, ...]:
    """Return the key that a message begins with, as those about one key do."""
    found = re.match(r"[a-z_]+(\.[a-z_]+)*", message)
    return tuple(found[0].split(".")) if found else ()

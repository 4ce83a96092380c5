"""Small tables and specs for them, each drawn anew from a seed and a number.

Ties, constants, missing cells and odd texts are drawn on purpose: random values alone
would hardly ever be equal.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from benchmarks.fuzz.definitions import Paths
from core_mondrian import BestPolicy, OriginalPolicy, PaperPolicy, Spec, Suppression
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.codes import Prefix, Redact
from core_mondrian.hierarchies.learned import Learned
from core_mondrian.hierarchies.ranges import Ranges
from core_mondrian.hierarchies.tree import Hierarchy, from_paths
from core_mondrian.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    MaximumRisk,
    PrivacyModel,
    PSensitiveKAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)
from core_mondrian.spec.policies import Policy

MOST_ROWS = 12
KEY = b"sixteen bytes of key"


def _ways(text: str) -> Paths:
    ways = [tuple(line.split()) for line in text.splitlines()]
    return {way[0]: way for way in ways}


ANIMALS = _ways(
    "cat cat beast *\ndog dog beast *\ncow cattle beast *\nox cattle beast *\n"
    "hen fowl bird *\nduck fowl bird *\nowl owl bird *\ncarp fish fish *"
)
LETTERS = _ways("a ab abc *\nb ab abc *\nc c abc *\nd de de *\ne de de *\nz z z *")
TREES = {"animals": ANIMALS, "letters": LETTERS}
_TREE = {name: from_paths(list(ways.values())) for name, ways in TREES.items()}

_DAY = dt.date(2020, 2, 27)
_NOON = dt.datetime(2020, 2, 29, 23, 59, 59, 999_999)
_PLAIN = ["a", "b", "c", "d", "e", "f", "g"]
_ODD = [
    *("", " ", "*", "{a}", "{a, b}", "[1, 2]", "null", "None", "nan", "a, b", '"', "1"),
    *("a\u0301", "\u00e1", "ß", "\U0001f600", "\x00", "\n", "'", "\u202e", "a" * 300),
]
POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "small": (pa.int64(), [0, 1, 2, 3, 4, 5, 7, 9]),
    "bytes": (pa.int8(), [-128, -1, 0, 1, 5, 9, 100, 127]),
    "large": (pa.int64(), [-(2**63), -(2**53) - 1, -1, 0, 2**53, 2**53 + 1, 2**63 - 1]),
    "unsigned": (pa.uint64(), [0, 1, 2, 2**53, 2**53 + 1, 2**64 - 1]),
    "floats": (pa.float64(), [0.1, 0.2, 0.1 + 0.2, 0.3, -0.0, 0.0, 1 / 3, 1e6, -7.5]),
    "wild": (
        pa.float64(),
        [1e150, -1e150, 5e-324, 1e-300, 0.0, 1.0, float("nan"), 1e308],
    ),
    "single": (pa.float32(), [0.5, 1.5, 2.25, -8.0, 0.0, 1024.0]),
    "days": (pa.date32(), [_DAY + dt.timedelta(days=i * i) for i in range(8)]),
    "moments": (
        pa.timestamp("us"),
        [_NOON + dt.timedelta(microseconds=i**9) for i in range(8)],
    ),
    "sides": (pa.bool_(), [False, True]),
    "money": (pa.decimal128(12, 2), [Decimal(i * i - 9) / 4 for i in range(8)]),
    "texts": (pa.string(), _PLAIN),
    "odd": (pa.string(), _ODD),
    "coded": (pa.dictionary(pa.int32(), pa.string()), _PLAIN),
    "animals": (pa.string(), [*ANIMALS, "newt"]),
    "codes": (pa.string(), ["13053", "13068", "14850", "1485", "0", "14853", "13"]),
    "ages": (pa.int64(), [17, 20, 21, 25, 29, 30, 64, 99]),
    "nothing": (pa.int64(), []),
}
"""Of each kind of column, its type and what its cells may be."""
NUMBERS = {
    *("small", "bytes", "large", "unsigned", "floats", "wild", "single", "days"),
    *("moments", "sides", "money", "ages", "nothing"),
}
_KINDS = [*POOLS, "small", "small", "texts", "texts", "animals", "floats", "ages"]
FORMATS = ("interval", "bounds", "struct", "mean", "median", "midpoint", "sample")
_NAMES = ["a", "b b", "ć", "d_min"]


@dataclass(frozen=True)
class Case:
    """A table and what is asked of its release."""

    number: int
    kinds: dict[str, str]
    """Of each quasi-identifier, the kind of its cells."""
    columns: dict[str, list[Any]]
    """All columns; missing cells are None."""
    types: dict[str, pa.DataType]
    spec: Spec
    ways: dict[str, Paths]
    """Hierarchies by column."""
    population: dict[str, list[Any]] | None
    library: str
    threads: int | None

    @property
    def n_rows(self) -> int:
        return len(self.columns["id"])

    @property
    def key(self) -> bytes | None:
        return KEY if self.spec.pseudonyms else None

    def arrow(self, order: list[int] | None = None) -> pa.Table:
        """Return the table, its rows in another order if one is given."""
        return arrow_table(self.columns, self.types, order)


def arrow_table(
    columns: dict[str, list[Any]],
    types: dict[str, pa.DataType],
    order: list[int] | None = None,
) -> pa.Table:
    arrays = {}
    for name, cells in columns.items():
        taken = cells if order is None else [cells[i] for i in order]
        kind = types[name]
        if pa.types.is_dictionary(kind):
            arrays[name] = pa.array(taken, kind.value_type).dictionary_encode()
        else:
            arrays[name] = pa.array(taken, kind)
    return pa.table(arrays)


def draw(seed: int, number: int) -> Case:
    """Return the case of this number; the same whatever was drawn before."""
    return _Drawer(Random(seed << 40 | number)).case(number)  # noqa: S311


def _suppress_patterns(spec: Spec, number: int) -> Spec:
    """Let every other case with patterns suppress small ones.

    Nothing is drawn for it: what is drawn later stays the same.
    """
    if number % 2 or spec.missing_rule != "pattern":
        return spec
    budget = spec.suppress
    if isinstance(spec.policy, OriginalPolicy):
        budget = Suppression(rows=number // 2 % 6)
    return replace(spec, small_patterns="suppress", suppress=budget)


class _Drawer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.pick: Callable[..., Any] = random.choice

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def case(self, number: int) -> Case:
        n = self.random.randint(1, MOST_ROWS)
        n_columns = self.pick((1, 1, 2, 2, 2, 3, 3, 4))
        kinds = {_NAMES[i]: self.pick(_KINDS) for i in range(n_columns)}
        if self.chance(0.02):
            n = self.pick((0, 1, 2))
        columns = {name: self.cells(kind, n) for name, kind in kinds.items()}
        types = {name: POOLS[kind][0] for name, kind in kinds.items()}
        models = self.models()
        read = {model.column for model in models}
        self.add_others(columns, types, n, read)
        trees = self.trees(kinds)
        population = None
        if self.chance(0.04):
            population = self.people(kinds, columns)
        spec = self.spec(models, kinds, columns, types, trees, population)
        spec = _suppress_patterns(spec, number)
        library = self.pick(("arrow",) * 8 + ("pandas", "polars"))
        return Case(
            *(number, kinds, columns, types, spec),
            ways={
                name: TREES[kinds[name]]
                for name, tree in trees.items()
                if isinstance(tree, Hierarchy)
            },
            population=population,
            library="arrow" if population is not None else library,
            threads=self.pick((2, 3)) if self.chance(0.05) else self.pick((None, 1)),
        )

    def cells(self, kind: str, n: int) -> list[Any]:
        """Draw few different values, so that there are ties."""
        pool = POOLS[kind][1]
        some = (
            [self.pick(pool) for _ in range(self.random.randint(1, 6))] if pool else []
        )
        missing = self.pick((0, 0, 0, 0.1, 0.3, 0.8))
        if not some or self.chance(0.02):
            missing = 1.0
        return [None if self.chance(missing) else self.pick(some) for _ in range(n)]

    def add_others(
        self,
        columns: dict[str, list[Any]],
        types: dict[str, pa.DataType],
        n: int,
        read: set[str | None],
    ) -> None:
        """Add the columns that are no quasi-identifiers; ``read`` by the models."""
        letters = [self.pick((*"aabcde", None)) for _ in range(4)]
        columns["s"] = [self.pick(letters) for _ in range(n)]
        columns["v"] = [self.pick((1, 1, 2, 5, -3, None)) for _ in range(n)]
        columns["id"] = list(range(n))
        columns["note"] = [self.pick(_ODD) for _ in range(n)]
        persons = self.random.randint(1, 12)
        columns["person"] = [
            None if self.chance(0.05) else self.random.randint(1, persons)
            for _ in range(n)
        ]
        columns["w"] = [self.pick((1.0, 0.5, 3.0)) for _ in range(n)]
        types |= {
            "s": self.pick((pa.string(), pa.string(), pa.large_string())),
            "v": self.pick((pa.int64(), pa.int64(), pa.float64())),
            "id": pa.int64(),
            "note": pa.string(),
            "person": pa.int64(),
            "w": pa.float64(),
        }
        for name in ("s", "v", "note", "person", "w"):
            if name not in read and self.chance(0.75):
                del columns[name], types[name]

    def trees(self, kinds: dict[str, str]) -> dict[str, Hierarchy | Builder]:
        found: dict[str, Hierarchy | Builder] = {}
        for name, kind in kinds.items():
            if kind in TREES and self.chance(0.8):
                found[name] = _TREE[kind]
            elif kind == "codes" and self.chance(0.7):
                found[name] = self.pick((Prefix(), Prefix(steps=(2, 1)), Redact()))
            elif kind == "ages" and self.chance(0.5):
                found[name] = self.pick(
                    (Ranges(widths=(5, 10, 20)), Ranges(widths=(10,), above=60))
                )
            elif kind == "texts" and self.chance(0.1):
                found[name] = Learned()
        return found

    def people(
        self, kinds: dict[str, str], columns: dict[str, list[Any]]
    ) -> dict[str, list[Any]]:
        """Draw a population: everybody of the table, and others."""
        n = self.random.randint(0, 12)
        return {
            name: [*columns[name], *self.cells(kind, n)] for name, kind in kinds.items()
        }

    def spec(
        self,
        models: tuple[PrivacyModel, ...],
        kinds: dict[str, str],
        columns: dict[str, list[Any]],
        types: dict[str, pa.DataType],
        trees: dict[str, Hierarchy | Builder],
        population: dict[str, list[Any]] | None,
    ) -> Spec:
        asked = self.roles(kinds, columns) | self.shape(kinds)
        if population is not None:
            people = arrow_table(population, types)
            models = (*models[:1], self.of_population(people))
            asked |= {"unit": None, "suppress": None, "missing": None}
            asked |= {"numbers": self.pick(FORMATS[:3]), "numbers_by_column": {}}
            asked["pseudonyms"] = ()
            asked["uncovered"] = "own branch"
        policy = self.policy(kinds)
        if population is not None and isinstance(policy, BestPolicy):
            policy = BestPolicy(policy.effort, policy.disjoint, policy.beta)
        if isinstance(policy, OriginalPolicy):
            asked["suppress"] = None
        return Spec(tuple(kinds), models, hierarchies=trees, policy=policy, **asked)

    def roles(
        self, kinds: dict[str, str], columns: dict[str, list[Any]]
    ) -> dict[str, Any]:
        asked: dict[str, Any] = {}
        if "person" in columns:
            asked["unit"] = "person" if self.chance(0.7) else None
            if self.chance(0.3):
                asked["pseudonyms"] = ("person",)
        if "w" in columns and self.chance(0.8):
            asked["weight"] = "w"
        if "note" in columns and self.chance(0.3):
            asked["identifiers"] = ("note",)
        if self.chance(0.1):
            asked["weights"] = {name: self.pick((0.1, 1, 5, 1e9)) for name in kinds}
        return asked

    def shape(self, kinds: dict[str, str]) -> dict[str, Any]:
        """Draw what a release looks like, and what may be left out of it."""
        budget = None
        if self.chance(0.5):
            budget = Suppression(rows=self.random.randint(0, 5))
        numbers, some = "interval", {}
        if self.chance(0.4):
            numbers = self.pick(FORMATS)
        if self.chance(0.2):
            some = {name: self.pick(FORMATS) for name in kinds if self.chance(0.5)}
        return {
            "suppress": budget,
            "suppressed": self.pick(("drop", "drop", "blank", "separate")),
            "missing": self.pick((None, "pattern", "value")),
            "numbers": numbers,
            "numbers_by_column": some,
            "categories": self.pick(("label", "label", "set")),
            "nice": self._nice(),
            "class_id": "class" if self.chance(0.1) else None,
            "shuffle": self.random.randint(0, 3) if self.chance(0.1) else None,
            "uncovered": self.pick(("error", "own branch", "suppress")),
            "inline_below": self.pick((0, 3, 1000, 1000)),
        }

    def _nice(self) -> bool:
        is_nice = self.chance(0.2)
        self.random.randint(0, 3)  # once a seed: what is drawn later stays the same
        return is_nice

    def policy(self, kinds: dict[str, str]) -> Policy:
        drawn = self.random.random()
        if drawn < 0.5:
            equity = None
            if self.chance(0.05):
                equity = self.pick(("id", *kinds))
            return BestPolicy(
                self.pick(("fast", "fast", "fast", "strong", "max")),
                disjoint=self.chance(0.2),
                beta=self.pick((None, 0, 1.0, 2.0)),
                price=self.pick((1.0, 1.0, 0.1, 5.0)),
                equity=equity,
                equity_bound=self.pick((None, 1.1)) if equity else None,
            )
        if drawn < 0.9:
            if self.chance(0.5):
                return PaperPolicy()
            return PaperPolicy(
                cut_points=self.pick((("median",), ("bin_edges", "median"))),
                bin_edges_above=self.pick((0.0, 0.25)),
                min_bin_values=self.pick((2, 5)),
                rilm_epsilon=self.pick((None, 0.05, -1.0)),
                compete_above=self.pick((0.0, 0.9)),
                breakout_multiplier=self.pick((None, None, 0.5)),
            )
        return OriginalPolicy(self.pick(("fair", "as_published")))

    def models(self) -> tuple[PrivacyModel, ...]:
        n = self.pick((1, 1, 1, 2, 2, 3))
        if self.chance(0.5):
            sized: PrivacyModel = KAnonymity(self.pick((2, 2, 2, 3, 3, 4, 6)))
        else:
            sized = self.model()
        return (sized, *(self.model() for _ in range(n - 1)))

    def model(self) -> PrivacyModel:
        column = self.pick(("s", "s", "v"))
        missing = self.pick(("value", "value", "ignored"))
        build = self.pick(_MODELS_OF_TEXT if column == "s" else _MODELS)
        model: PrivacyModel = build(self, column, missing)
        return model

    def tenths(self) -> float:
        return self.random.randint(1, 9) / 10

    def of_population(self, people: pa.Table) -> PrivacyModel:
        if self.chance(0.5):
            return KMap(self.pick((2, 3, 5)), people)
        low = self.pick((0.0, 0.0, 0.1, 0.3))
        return DeltaPresence(low, self.pick((0.5, 0.7, 0.9)), people)


def _alpha_k(drawer: _Drawer, column: str, missing: Any) -> PrivacyModel:
    named = ("a", None) if column == "s" else (1, 2)
    values = drawer.pick(((), named))
    return AlphaKAnonymity(
        drawer.tenths(), drawer.pick((2, 3)), column, values, missing
    )


def _p_sensitive(drawer: _Drawer, column: str, missing: Any) -> PrivacyModel:
    p = drawer.pick((2, 2, 3))
    return PSensitiveKAnonymity(p, p + drawer.pick((0, 1)), column, missing)


_MODELS: tuple[Callable[[_Drawer, str, Any], PrivacyModel], ...] = (
    lambda d, *_: KAnonymity(d.pick((2, 3, 5))),
    lambda d, *_: MaximumRisk(d.pick((0.6, 0.5, 0.34, 0.3, 0.2))),
    lambda d, *_: AverageRisk(d.pick((0.6, 0.5, 0.34, 0.3))),
    lambda d, c, m: DistinctLDiversity(d.pick((2, 2, 3)), c, m),
    _p_sensitive,
    lambda d, c, m: EntropyLDiversity(d.pick((1.01, 1.3, 1.7, 2.0)), c, m),
    lambda d, c, m: RecursiveCLDiversity(
        d.pick((0.5, 1.0, 1.5, 3.0)), d.pick((2, 2, 3)), c, m
    ),
    _alpha_k,
    lambda d, c, m: DeltaDisclosure(
        d.pick((0.7, 1.5, 3.0)), c, d.pick(("fails", "allowed")), m
    ),
    lambda d, c, m: BetaLikeness(
        d.pick((0.1, 0.5, 1.0, 3.0)), c, d.pick(("basic", "enhanced")), m
    ),
    lambda d, c, m: TCloseness(d.pick((d.tenths(), 0)), c, "equal", missing=m),
    lambda d, c, m: TCloseness(d.tenths(), c, "ordered", missing=m),
)
_MODELS_OF_TEXT = (
    *_MODELS,
    lambda d, c, m: TCloseness(
        d.tenths(), c, "hierarchical", _TREE["letters"], missing=m
    ),
)

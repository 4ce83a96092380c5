"""Random schedules of a series, played against an oracle that has all originals."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from math import log
from multiprocessing import get_context
from random import Random
from typing import Any, Final

import narwhals as nw
import pyarrow as pa

from benchmarks.lines import say
from core_mondrian import InfeasibleError, KAnonymity, OriginalPolicy, PaperPolicy, Spec
from core_mondrian.errors import place_of
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models import (
    BetaLikeness,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveCLDiversity,
    TCloseness,
)
from core_mondrian.models.base import PrivacyModel
from core_mondrian.recoding.value_sets import MISSING
from core_mondrian.series.release_step import RowCounts, Step, take_step
from core_mondrian.series.state import Rules, State, series_spec
from core_mondrian.series.state import Shown as Remembered
from core_mondrian.series.step_rows import persons_of, step_rows
from core_mondrian.spec.policies import BestPolicy, Policy
from core_mondrian.tables.keys import Key
from core_mondrian.verification.verify_series import (
    Numbered,
    SeriesVerification,
    verify_moves,
    verify_series,
)

Row = dict[str, Any]
Shown = dict[int, tuple[Any, ...]]
"""By row key: cohort, quasi-identifiers and sensitive value as they are released."""
PETS: Final = from_paths(
    [
        ("cat", "mammal", "*"),
        ("dog", "mammal", "*"),
        ("cow", "mammal", "*"),
        ("owl", "bird", "*"),
        ("hen", "bird", "*"),
    ]
)
GROUPS: Final = {"mammal": {"cat", "dog", "cow"}, "bird": {"owl", "hen"}}
KINDS: Final = {
    "age": pa.int64(),
    "pet": pa.string(),
    "ill": pa.string(),
    "note": pa.int64(),
    "who": pa.int64(),
    "id": pa.int64(),
}


_CHUNK: Final = 100
EVERY: Final = 10
"""Of so many schedules one is played with the tables that are released."""


class Violation(AssertionError):
    """A promise was broken; says by which rows."""


def table_of(rows: Iterable[Row]) -> pa.Table:
    rows = list(rows)
    return pa.table(
        {name: pa.array([r[name] for r in rows], kind) for name, kind in KINDS.items()}
    )


@dataclass
class Schedule:
    """What happens to a table between releases, by lot."""

    dice: Random
    rows: dict[int, Row] = field(default_factory=dict)
    gone: list[Row] = field(default_factory=list)
    next_id: int = 0

    def insert(self, n: int) -> None:
        for _ in range(n):
            self.rows[self.next_id] = self.draw(self.next_id)
            self.next_id += 1

    def draw(self, number: int) -> Row:
        dice = self.dice
        pets = [*GROUPS["mammal"], *GROUPS["bird"]]
        return {
            "age": None if dice.random() < 0.05 else dice.randrange(0, 40, 5),
            "pet": None if dice.random() < 0.05 else dice.choice(sorted(pets)),
            "ill": dice.choice(["flu", "flu", "cold", "gout", None]),
            "note": dice.randrange(3),
            "who": dice.randrange(0, 12),
            "id": number,
        }

    def delete(self, n: int) -> None:
        for number in self.dice.sample(sorted(self.rows), min(n, len(self.rows))):
            self.gone.append(self.rows.pop(number))

    def delete_where(self) -> None:
        """Delete all rows of some value: whole classes go."""
        column = self.dice.choice(["age", "pet", "ill"])
        values = [row[column] for row in self.rows.values()]
        value = self.dice.choice(values) if values else None
        for number in [n for n, row in self.rows.items() if row[column] == value]:
            self.gone.append(self.rows.pop(number))

    def update(self, n: int) -> None:
        for number in self.dice.sample(sorted(self.rows), min(n, len(self.rows))):
            row = dict(self.rows[number])
            columns = ["age", "age", "age", "pet", "ill", "note", "who"]
            column = self.dice.choice(columns)
            row[column] = self.draw(number)[column]
            self.rows[number] = row

    def update_all(self) -> None:
        """Change a cell of every row: whole cohorts change."""
        for number, row in self.rows.items():
            self.rows[number] = {**row, "note": row["note"] + 1}

    def bring_back(self, n: int) -> None:
        self.dice.shuffle(self.gone)
        for row in self.gone[:n]:
            self.rows[row["id"]] = row
        del self.gone[:n]

    def go_on(self) -> None:
        """Let something happen."""
        dice, n = self.dice, len(self.rows)
        for _ in range(dice.randrange(1, 4)):
            what = dice.random()
            if what < 0.35:
                self.insert(dice.randrange(0, 15))
            elif what < 0.6:
                self.delete(dice.randrange(0, 2 + n // dice.choice([2, 8])))
            elif what < 0.65:
                self.delete_where()
            elif what < 0.85:
                self.update(dice.randrange(0, 2 + n // dice.choice([2, 8])))
            elif what < 0.9:
                self.update_all()
            else:
                self.bring_back(dice.randrange(0, 6))

    def table(self) -> pa.Table:
        rows = list(self.rows.values())
        self.dice.shuffle(rows)
        return table_of(rows)


def draw_spec(dice: Random) -> Spec:
    models: list[Any] = [KAnonymity(dice.randrange(2, 5))]
    what = dice.random()
    if what < 0.2:
        models.append(DistinctLDiversity(2, "ill"))
    elif what < 0.25:
        models.append(EntropyLDiversity(1.5, "ill"))
    elif what < 0.3:
        models.append(RecursiveCLDiversity(3, 2, "ill"))
    elif what < 0.4:
        models.append(TCloseness(0.4, "ill"))
    elif what < 0.45:
        models.append(BetaLikeness(1.5, "ill"))
    policies: list[Policy] = [BestPolicy(), PaperPolicy(), OriginalPolicy()]
    has_unit = dice.random() < 0.25
    return Spec(
        ("age", "pet"),
        tuple(models),
        unit="who" if has_unit else None,
        identifiers=() if has_unit else ("who",),
        hierarchies={"pet": PETS} if dice.random() < 0.7 else {},
        categories="set" if dice.random() < 0.2 else "label",
        numbers=dice.choice(["interval", "interval", "struct", "bounds"]),
        policy=dice.choice(policies),
        suppressed=dice.choice(["drop", "drop", "blank"]),
    )


def draw_rules(dice: Random) -> Rules:
    return Rules(
        ("id",),
        cuts=dice.choice(["afresh", "afresh", "first"]),
        departures=dice.choice(["together", "by lot"]),
        too_small=dice.choice(["ancestor", "ancestor", "wait", "withhold"]),
        cohort_size=dice.choice([None, None, 6]),
    )


@dataclass
class MemorySeries:
    """A series without files."""

    state: State
    ids: dict[int, int] = field(default_factory=dict)
    """The row key of each hash of one."""

    @classmethod
    def create(
        cls, spec: Spec, rules: Rules, secret: bytes = b"0" * 16
    ) -> "MemorySeries":
        key = Key(secret, is_given=True)
        return cls(State("test", series_spec(spec, rules), rules, key))

    def release(self, data: Any) -> tuple[Any, list[int], RowCounts]:
        """Return the release, the row key of each row, and the counts."""
        frame = nw.from_native(data, eager_only=True)
        step = self._decide(frame)
        made = step_rows(self.state, step, frame, 1)
        shown = made.shown
        before = self.state.shown
        verify_moves(
            None if before is None else persons_of(before),
            persons_of(shown),
            self.state.spec,
            shown.recoding.compared(),
        )
        return made.table, self._remember(shown), step.counts

    def decide(self, data: Any) -> tuple[list[Row], list[int], RowCounts]:
        """Return what a live view would show, without the rows of the release.

        Columns that pass through are not remembered then.
        """
        step = self._decide(nw.from_native(data, eager_only=True))
        recoding, records = step.shown.recoding, step.shown.records
        cohorts = step.shown.cohorts
        columns = {"cohort": cohorts.names.to_pylist()}
        for column, cells in zip(recoding.columns, cohorts.cells, strict=True):
            columns[column.name] = cells.to_pylist()
        rows = [
            {name: cells[place] for name, cells in columns.items()}
            for place in records.cohort.tolist()
        ]
        for i, item in enumerate(recoding.values):
            labels = [*item.labels.to_pylist(), None]
            for row, code in zip(rows, records.values[:, i].tolist(), strict=True):
                row[item.name] = labels[code]
        return rows, self._remember(step.shown), step.counts

    def _decide(self, frame: Any) -> Step:
        step = take_step(self.state, frame, 1)
        self.ids.update(zip(step.key.tolist(), frame["id"].to_list(), strict=True))
        return step

    def _remember(self, shown: Remembered) -> list[int]:
        """Go on to the next release; return the row key of each row of this one."""
        chain = self.state.chain._replace(number=self.state.chain.number + 1)
        self.state = replace(self.state, chain=chain, shown=shown)
        return [self.ids[key] for key in shown.records.hashes.key.tolist()]


@dataclass
class Oracle:
    """Knows every original row, and what was shown of it, release by release."""

    spec: Spec
    releases: list[Shown] = field(default_factory=list)
    who: dict[int, int] = field(default_factory=dict)

    def see(
        self, now: dict[int, Row], rows: list[Row], ids: list[int], counts: RowCounts
    ) -> None:
        """Take the table and its release in, and check all that is promised."""
        before = self.releases[-1] if self.releases else {}
        if len(rows) != len(set(ids)):
            raise Violation("rows released are not rows shown")
        shown: Shown = {}
        for row, number in zip(rows, ids, strict=True):
            cells = tuple(repr(self.cell(row, name)) for name in ("age", "pet"))
            shown[number] = (row["cohort"], *cells, *map(row.get, ("ill", "note")))
            if before.get(number) != shown[number]:  # else it may be as it was
                if number not in now:
                    raise Violation("a row that is not there is shown otherwise")
                self.check_truth(row, now[number])
                self.who[number] = now[number]["who"]
        self.releases.append(shown)
        self.check_counts(len(now), counts, set(ids) - set(now))
        self.check_histories()

    def without_blank(self, rows: list[Row]) -> list[Row]:
        """Return the rows that show something; the others are of who has left."""
        found = [row for row in rows if any(x is not None for x in row.values())]
        ever = {number for shown in self.releases for number in shown}
        if len(rows) - len(found) > len(ever):
            raise Violation("more blank rows than people who were shown")
        return found

    def cell(self, row: Row, name: str) -> Any:
        if name == "age" and self.spec.numbers == "bounds":
            if "age" not in row:
                return row["age_min"], row["age_max"]
            ends = row["age"] or {}  # decided, and not yet two columns
            return ends.get("min"), ends.get("max")
        return row[name]

    def check_truth(self, row: Row, true: Row) -> None:
        if any(row.get(name, true[name]) != true[name] for name in ("ill", "note")):
            raise Violation("a cell that passes through is not as it is")
        age, pet = self.cell(row, "age"), self.cell(row, "pet")
        if age not in (None, (None, None)):
            low, high = ends_of(age)
            if true["age"] is None or not low <= true["age"] <= high:
                raise Violation("an age outside what is shown")
        if pet not in (None, "*") and not covers(pet, true["pet"]):
            raise Violation("a pet outside what is shown")

    def check_counts(self, n_in: int, counts: RowCounts, lingering: set[int]) -> None:
        out = counts.n_waiting + counts.n_withheld + counts.n_withdrawn
        in_sight = counts.n_shown + counts.n_outdated
        if counts.n_in != n_in or counts.n_in != in_sight + out:
            raise Violation("rows are lost from the accounting")
        if in_sight + counts.n_lingering != len(self.releases[-1]):
            raise Violation("rows shown are miscounted")
        if len(self.releases) == 1 and counts.n_shown != n_in:
            raise Violation("the tree of the first table does not hold its rows")
        if counts.n_lingering != len(lingering):
            raise Violation("rows that are not there are miscounted")

    def check_histories(self) -> None:
        """Group everybody by all that was ever shown of them, and count."""
        groups = defaultdict(list)
        for number in {n for shown in self.releases for n in shown}:
            seen = [shown.get(number) for shown in self.releases]
            # Cells of quasi-identifiers and the cohort, not what sets rows apart.
            history = tuple(None if x is None else x[:3] for x in seen)
            groups[history].append((number, [x[3] for x in seen if x is not None]))
        is_late = len(self.releases) > 1
        for history, members in groups.items():
            self.check_persons([n for n, _ in members])
            self.check_values([ills[-1] for _, ills in members])
            if is_late and history[-1] is not None and history[-2] is not None:
                # Who went on together, as they were shown before.
                self.check_values([ills[-2] for _, ills in members])

    def check_persons(self, numbers: list[int]) -> None:
        k = self.spec.models[0].min_rows
        who = numbers if self.spec.unit is None else [self.who[n] for n in numbers]
        if len(set(who)) < k:
            raise Violation(f"{len(set(who))} persons of {k} share their history")

    def check_values(self, ills: list[str | None]) -> None:
        own = Counter(ills)
        for model in self.spec.models[1:]:
            if not self.is_met(model, own):
                raise Violation(f"a group of one history fails {type(model).__name__}")

    def is_met(self, model: PrivacyModel, own: Counter[str | None]) -> bool:
        """Return whether values pass a model, by its definition and no code of ours."""
        shares = [n / own.total() for n in own.values()]
        if isinstance(model, DistinctLDiversity):
            return len(own) >= model.l
        if isinstance(model, EntropyLDiversity):
            return -sum(p * log(p) for p in shares) >= log(model.l) - 1e-9
        if isinstance(model, RecursiveCLDiversity):
            largest, *rest = sorted(shares, reverse=True)
            return largest < model.c * sum(rest[model.l - 2 :]) - 1e-9
        first = Counter(row[3] for row in self.releases[0].values())
        gains = {x: own[x] / own.total() - first[x] / first.total() for x in first}
        if own.keys() - first.keys():
            return False
        if isinstance(model, TCloseness):
            return sum(map(abs, gains.values())) / 2 <= model.t + 1e-9
        if isinstance(model, BetaLikeness):
            limit = {x: model.beta * n / first.total() for x, n in first.items()}
            return all(gains[x] <= limit[x] + 1e-9 for x in first)
        raise NotImplementedError(type(model).__name__)


def ends_of(age: Any) -> tuple[float, float]:
    if isinstance(age, dict):
        return age["min"], age["max"]
    if isinstance(age, tuple):
        return age
    ends = [float(end) for end in age.strip("[]").split(", ")]
    return ends[0], ends[-1]


def covers(label: str, pet: str | None) -> bool:
    if label.startswith("{"):
        return (MISSING if pet is None else pet) in label.strip("{}").split(", ")
    return pet == label or pet in GROUPS.get(label, ())


def play(
    seed: int, n_releases: int = 4, *, has_tables: bool = True
) -> tuple[Oracle, list[Any], Spec] | None:
    """Play a schedule; None: its first table cannot be released.

    Without tables, what is decided is checked, and not the rows that are made of it:
    that takes half the time.

    Raises:
        Violation: a promise was broken.
    """
    dice = Random(seed)  # noqa: S311
    schedule = Schedule(dice)
    schedule.insert(dice.randrange(4, 60))
    spec = draw_spec(dice)
    series = MemorySeries.create(spec, draw_rules(dice), b"%016d" % seed)
    oracle, tables = Oracle(spec), []
    try:
        for _ in range(n_releases):
            now, table = dict(schedule.rows), schedule.table()
            if has_tables:
                released, ids, counts = series.release(table)
                tables.append(without_unit(released))
                rows = oracle.without_blank(released.to_pylist())
            else:
                rows, ids, counts = series.decide(table)
            oracle.see(now, rows, ids, counts)
            schedule.go_on()
    except InfeasibleError:
        if oracle.releases:
            raise
        return None
    if has_tables:
        recount(tables, series.state.spec)
    return oracle, tables, series.state.spec


def without_unit(released: Any) -> Any:
    names = [name for name in released.column_names if name != "who"]
    return released.select(names)


def recount(tables: list[Any], spec: Spec) -> SeriesVerification:
    numbered = (Numbered(i, table) for i, table in enumerate(tables, start=1))
    return verify_series(numbered, spec, "cohort")


@dataclass
class Tally:
    """What came of some schedules."""

    schedules: int = 0
    releases: int = 0
    rows: int = 0
    refused: int = 0
    finds: list[tuple[int, str]] = field(default_factory=list)
    cpu: float = 0.0

    def add(self, other: "Tally") -> None:
        for name in ("schedules", "releases", "rows", "refused", "cpu"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.finds += other.finds

    def to_json(self) -> dict[str, Any]:
        return {
            "schedules": self.schedules,
            "releases": self.releases,
            "rows shown": self.rows,
            "first table refused": self.refused,
            "finds": len(self.finds),
            "cpu seconds": round(self.cpu, 1),
        }


def run_schedules(seed: int, numbers: range, n_processes: int = 1) -> Tally:
    """Play the schedules of these numbers, and tell what broke."""
    total = Tally()
    chunks = [numbers[i : i + _CHUNK] for i in range(0, len(numbers), _CHUNK)]
    if n_processes == 1:
        parts: Iterable[Tally] = (play_all(seed, chunk) for chunk in chunks)
    else:
        pool = ProcessPoolExecutor(n_processes, mp_context=get_context("spawn"))
        parts = pool.map(partial(play_all, seed), chunks)
    for part in parts:
        for number, text in part.finds:
            say(f"schedule {number}: {text}")
        total.add(part)
    return total


def play_all(seed: int, numbers: range) -> Tally:
    tally = Tally()
    started = time.process_time()
    for number in numbers:
        tally.schedules += 1
        try:
            has_tables = number % EVERY == 0
            found = play(seed * 10**9 + number, has_tables=has_tables)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a find
            text = f"{type(error).__name__} in {place_of(error)}: {error}"
            tally.finds.append((number, text))
            continue
        if found is None:
            tally.refused += 1
        else:
            shown = found[0].releases
            tally.releases += len(shown)
            tally.rows += sum(len(rows) for rows in shown)
    tally.cpu = time.process_time() - started
    return tally

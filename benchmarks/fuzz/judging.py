"""What has to hold of a release, judged from the table that came in and what came out.

Nothing of the engine or its verifier is asked; see `definitions` for the models.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from benchmarks.fuzz.cells import (
    category_covers,
    ends_of,
    plain,
    read_frame,
    read_set,
)
from benchmarks.fuzz.definitions import Paths, fits_population, holds
from benchmarks.fuzz.drawing import LETTERS, NUMBERS, Case
from core_mondrian import PaperPolicy, Release
from core_mondrian.hierarchies.base import Builder
from core_mondrian.models import PrivacyModel

_PSEUDONYM = re.compile(r"[0-9a-f]{32}")
Cells = dict[str, list[Any]]
Key = tuple[Any, ...]


def budget_of(case: Case) -> int:
    """Return how many rows may be left out."""
    spec = case.spec
    if case.population is not None:
        return 0
    if spec.suppress is None:
        # One in a hundred rows, for the paper's policy: none of twelve.
        return case.n_rows // 100 if isinstance(spec.policy, PaperPolicy) else 0
    return min(spec.suppress.rows or 0, case.n_rows)


def is_feasible(case: Case) -> bool:
    """Tell whether the whole table as one class passes every model."""
    if not case.n_rows:
        return False
    judge = _Judge(case, {})
    rows = list(range(case.n_rows))
    n_people = case.n_rows
    if case.population is not None:
        n_people = len(next(iter(case.population.values())))
    return all(
        judge.size_of(rows) >= model.min_rows
        and judge.passes(model, [rows])
        and fits_population(model, case.n_rows, n_people)
        for model in case.spec.models
    )


def find_faults(case: Case, release: Release[Any]) -> list[str]:
    """Return what is wrong with a release: in words, without a cell."""
    judge = _Judge(case, read_frame(release.data))
    missing = sorted(judge.expected_names() ^ set(judge.shown))
    if missing or len(judge.shown) != len(judge.expected_names()):
        return [f"columns: {missing}"]
    return list(judge.faults(release))


def _read(cell: Any) -> Any:
    """Return a cell of a named column as it counts: empty text is missing."""
    return None if cell == "" else cell


class _Judge:
    def __init__(self, case: Case, shown: Cells) -> None:
        self.case, self.spec = case, case.spec
        self.exactly = {n: [plain(x) for x in c] for n, c in case.columns.items()}
        self.came = dict(self.exactly)
        for name in self.spec.quasi_identifiers:
            self.came[name] = [_read(x) for x in self.came[name]]
        for name, ways in case.ways.items():
            if self.spec.uncovered_of(name) == "suppress":
                # What a hierarchy lacks is as good as missing.
                self.came[name] = [x if x in ways else None for x in self.came[name]]
        self.shown = shown

    def expected_names(self) -> set[str]:
        spec, names = self.spec, set(self.came) - set(self.spec.removed)
        for name in spec.quasi_identifiers:
            if self.is_number(name) and spec.format_of(name) == "bounds":
                names = names - {name} | {f"{name}_min", f"{name}_max"}
        return names | ({spec.class_id} if spec.class_id else set())

    def is_number(self, name: str) -> bool:
        is_number = self.case.kinds[name] in NUMBERS
        return is_number and name not in self.spec.hierarchies

    def column(self, name: str) -> list[Any]:
        """Return what a quasi-identifier shows; bounds as pairs."""
        if name in self.shown:
            return self.shown[name]
        low, high = self.shown[f"{name}_min"], self.shown[f"{name}_max"]
        pairs = zip(low, high, strict=True)
        return [None if pair == (None, None) else pair for pair in pairs]

    # What a fault is

    def faults(self, release: Release[Any]) -> Iterator[str]:
        yield from self.shown_of_suppressed(release)
        ids = self.shown["id"]
        columns = [self.column(name) for name in self.spec.quasi_identifiers]
        keys = list(zip(*columns, strict=True))
        yield from self.lost_rows(release, ids)
        if len(set(ids)) != len(ids) or not set(ids) <= set(self.came["id"]):
            return
        yield from self.changed_cells(ids)
        yield from self.bad_pseudonyms(ids)
        for name, column in zip(self.spec.quasi_identifiers, columns, strict=True):
            yield from self.uncovered(name, ids, column, set(ids), release.n_blanked)
        yield from self.violations(ids, keys)
        yield from self.bad_numbers(keys)

    def shown_of_suppressed(self, release: Release[Any]) -> Iterator[str]:
        """Check that suppressed rows that stay show nothing, and take them out."""
        if self.spec.suppressed != "blank":
            return
        gone = {i for i, one in enumerate(self.shown["id"]) if one is None}
        if len(gone) != release.n_suppressed:
            yield "lost rows: blank rows are not as many as suppressed ones"
        if any(column[i] is not None for column in self.shown.values() for i in gone):
            yield "blank: a suppressed row shows something"
        self.shown = {
            name: [x for i, x in enumerate(column) if i not in gone]
            for name, column in self.shown.items()
        }

    def lost_rows(self, release: Release[Any], ids: list[int]) -> Iterator[str]:
        n, gone = self.case.n_rows, release.n_suppressed
        if gone > budget_of(self.case):
            yield "budget: more rows suppressed than allowed"
        if len(ids) + gone != n or len(set(ids)) != len(ids):
            yield "lost rows: released and suppressed ones do not add up"
        if self.spec.shuffle is None and ids != sorted(ids):
            yield "order: rows are not in the order they came in"
        if self.spec.suppressed != "separate":
            if release.suppressed is not None:
                yield "apart: suppressed rows are given back unasked"
            return
        apart = read_frame(release.suppressed)
        rest = [i for i in self.came["id"] if i not in set(ids)]
        if apart != {name: [c[i] for i in rest] for name, c in self.exactly.items()}:
            yield "lost rows: those given apart are not those left out"

    def changed_cells(self, ids: list[int]) -> Iterator[str]:
        """Compare what passes through, row by row."""
        spec = self.spec
        hidden = {*spec.quasi_identifiers, *spec.removed, *spec.pseudonyms}
        for name in set(self.came) - hidden:
            if self.shown[name] != [self.came[name][i] for i in ids]:
                yield f"carried: column {name!r} was changed"

    def bad_pseudonyms(self, ids: list[int]) -> Iterator[str]:
        for name in self.spec.pseudonyms:
            seen: dict[Any, Any] = {}
            for i, cell in zip(ids, self.shown[name], strict=True):
                value = self.came[name][i]
                if cell is None and value is None:
                    continue
                if cell is None or not _PSEUDONYM.fullmatch(cell) or value is None:
                    yield "pseudonyms: something else is shown"
                elif seen.setdefault(value, cell) != cell:
                    yield "pseudonyms: a value has two"
            if len(set(seen.values())) != len(seen):
                yield "pseudonyms: two values share one"

    def uncovered(
        self, name: str, ids: list[int], column: list[Any], sure: set[int], blanked: int
    ) -> Iterator[str]:
        """Compare the released cells of a quasi-identifier with the original ones."""
        held = defaultdict(list)
        columns = [self.column(other) for other in self.spec.quasi_identifiers]
        for i, key in zip(ids, zip(*columns, strict=True), strict=True):
            held[key].append(self.came[name][i])
        keys = zip(*columns, strict=True)
        keeps = self.spec.missing_rule == "pattern" and not blanked
        for i, cell, key in zip(ids, column, keys, strict=True):
            value = self.came[name][i]
            if i not in sure:
                continue
            if cell is None:
                if keeps and value is not None:
                    yield f"missing: a value of {name!r} is blank in its own pattern"
                    return
                continue
            if not self.covers(name, cell, value, held[key]):
                yield f"cover: a cell of {name!r} does not hold what it stands for"
                return

    def covers(self, name: str, cell: Any, value: Any, held: list[Any]) -> bool:
        if self.is_number(name):
            return value is not None and self.range_covers(name, cell, value, held)
        as_set = self.spec.categories_of(name) == "set"
        if as_set:
            return (None if value is None else str(value)) in read_set(cell)
        if value is None:
            return False
        entry = self.spec.hierarchies.get(name)
        builder = entry if isinstance(entry, Builder) else None
        return category_covers(cell, value, self.case.ways.get(name), builder)

    def range_covers(self, name: str, cell: Any, value: Any, held: list[Any]) -> bool:
        how, kind = self.spec.format_of(name), self.case.kinds[name]
        if how in ("interval", "bounds", "struct"):
            low, high = ends_of(cell, kind)
            return bool(low <= value <= high)
        if how in ("median", "sample"):
            return cell in held
        known = [other for other in held if other is not None]
        return bool(min(known) <= cell <= max(known))

    # Models

    def violations(self, ids: list[int], keys: list[Key]) -> Iterator[str]:
        """Recount the classes that a reader sees."""
        classes = defaultdict(list)
        for i, key in zip(ids, keys, strict=True):
            classes[key].append(i)
        yield from self.failing(classes)

    def failing(self, classes: dict[Key, list[int]]) -> list[str]:
        if not classes:
            return []
        rows = list(classes.values())
        found = [
            f"violation: {model.title}"
            for model in self.spec.models
            if not self.passes(model, rows)
        ]
        if self.case.population is not None:
            found += self.failing_population(classes)
        return found

    def passes(self, model: PrivacyModel, classes: list[list[int]]) -> bool:
        groups: list[list[Any]] = [[] for _ in classes]
        if model.column is not None:
            values = self.seen(model.column)
            groups = [[values[i] for i in rows] for rows in classes]
        return holds(model, groups, [self.size_of(rows) for rows in classes], LETTERS)

    def seen(self, name: str) -> list[Any]:
        """Return the values of a sensitive column, without those that are blanked."""
        values = [_read(x) for x in self.came[name]]
        if self.shown:
            cells = zip(self.shown["id"], self.shown[name], strict=True)
            for i in [i for i, cell in cells if cell is None]:
                values[i] = None
        return values

    def size_of(self, rows: list[int]) -> int:
        """Return the persons of a class; rows of nobody are one person's."""
        if self.spec.unit is None:
            return len(rows)
        persons = [_read(x) for x in self.came[self.spec.unit]]
        return len({persons[i] for i in rows})

    def failing_population(self, classes: dict[Key, list[int]]) -> list[str]:
        people = self.case.population or {}
        columns = [[_read(plain(x)) for x in column] for column in people.values()]
        persons = list(zip(*columns, strict=True))
        found = []
        for key, rows in classes.items():
            fitting = sum(self.fits(key, person) for person in persons)
            found += [
                f"violation: {model.title}"
                for model in self.spec.models
                if not fits_population(model, len(rows), fitting)
            ]
        return found

    def fits(self, key: Key, person: Key) -> bool:
        """Tell whether a class may be about a person of the population."""
        names = self.spec.quasi_identifiers
        return all(
            cell is None or self.covers(name, cell, value, [])
            for name, cell, value in zip(names, key, person, strict=True)
        )

    def bad_numbers(self, keys: list[Key]) -> Iterator[str]:
        """Compare the numbers of classes with what they show."""
        if self.spec.class_id is None:
            return
        numbers = self.shown[self.spec.class_id]
        pairs = {p for p in zip(keys, numbers, strict=True) if p[1] is not None}
        if (
            not len({key for key, _ in pairs})
            == len(pairs)
            == len({number for _, number in pairs})
        ):
            yield "class_id: numbers do not tell classes apart"


__all__ = ["Paths", "budget_of", "find_faults", "is_feasible"]

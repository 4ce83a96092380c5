"""One more release of a series: who is shown in which cohort, given the table as it is.

Rows that were shown and are as they were stay in their cohorts. New rows form cohorts
of their own. Rows that are gone or have changed leave their cohorts, with
others (`events`). Nothing here is written anywhere: `series` does that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.keyed_hashing import keyed_hash
from core_mondrian.errors import DataError, InternalError, SpecError, list_names
from core_mondrian.recoding.labels import number_distinct
from core_mondrian.series.cohorts import Formed, form_cohorts
from core_mondrian.series.events import GONE, KEPT, OTHER, SAME, Histories, settle
from core_mondrian.series.fresh_cuts import FreshCuts, cut_afresh
from core_mondrian.series.judge import Judge, Members
from core_mondrian.series.recoding import Batch, fit
from core_mondrian.series.recoding_tree import guide, walk
from core_mondrian.series.row_hashes import (
    RowHashes,
    find_places,
    hash_key_values,
    hash_rows,
)
from core_mondrian.series.shown_cells import (
    Box,
    cells_of,
    label_cohorts,
    label_ranks,
    own_boxes,
)
from core_mondrian.series.shown_codes import (
    covered_codes,
    in_batch_codes,
    settled_codes,
)
from core_mondrian.series.state import (
    Cohorts,
    Records,
    Shown,
    State,
    no_cohorts,
    no_records,
)
from core_mondrian.spec.declaration import Spec, check_look_alikes
from core_mondrian.tables.frames import (
    OpenFrame,
    arrow_column,
    check_columns,
    open_frame,
    take_rows,
)

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What became of rows: in = shown + outdated + waiting + withheld + withdrawn."""

    n_in: int
    n_shown: int
    """Rows that are shown as they are."""
    n_outdated: int
    """Rows that have changed, and are shown as they were before."""
    n_waiting: int
    """New rows that are too few; they come in again with the next release."""
    n_withheld: int
    """New rows that are too few, and will not be shown."""
    n_withdrawn: int
    """Rows that are there, but left with others, or have changed."""
    n_new: int
    """Of those shown, those that were not before."""
    n_gone: int
    """Rows that were shown, and are no longer in the table."""
    n_lingering: int
    """Of those gone, those that are shown still, until enough others leave."""

    @property
    def n_released(self) -> int:
        """Rows of the release."""
        return self.n_shown + self.n_outdated + self.n_lingering

    @property
    def add_up(self) -> bool:
        """Return whether every row is counted once."""
        out = self.n_outdated + self.n_waiting + self.n_withheld + self.n_withdrawn
        return self.n_in == self.n_shown + out

    def to_json(self) -> dict[str, int]:
        """Return plain values."""
        return {
            item.name.removeprefix("n_"): getattr(self, item.name)
            for item in fields(self)
        }


class Step(NamedTuple):
    """What one more release shows, and what is to be remembered of it."""

    shown: Shown
    cohort: Integers
    """The cohort of each row of the table; -1: it is not shown as it is."""
    key: NDArray[np.uint64]
    """Which row each row of the table is."""
    entered: Integers
    """Rows of the table that are shown from now on, in new cohorts."""
    kept: Integers
    """Places, in the last release, of rows that are shown as they were there: they are
    the same, or cannot leave as yet."""
    counts: RowCounts


class _Table(NamedTuple):
    """The table as it is, next to what has been shown."""

    hashes: RowHashes
    key_value: Words
    """The key of each row by value, however it is written."""
    record: Integers
    """The place of each row among the records; -1: it is not shown so far."""
    is_retired: Flags


class _Arrivals(NamedTuple):
    """Rows that are new, or have changed, as codes."""

    rows: Integers
    """Their places in the table, rising."""
    batch: Batch
    codes: Codes
    """Of quasi-identifiers (row, column)."""
    members: Members


def take_step(state: State, frame: OpenFrame, threads: int | None) -> Step:
    """Decide what the next release of a series shows.

    Raises:
        SpecError: columns are missing, or are called like the cohort's.
        DataError: a value does not fit what was fitted, or rows have no key.
        InfeasibleError: the first table cannot be released at all.
    """
    _check_names(state, frame)
    shown = state.shown
    if shown is None:
        shown = _first(state, frame, threads)
    _check_kinds(shown, frame)
    table = _look_up(state, shown, frame)
    fate = _find_unchanged(shown.records, table)
    arrivals = _arrivals(state, shown, frame, table, fate, threads)
    fresh = _cut(state, shown, frame, table, arrivals, threads)
    shown, batch = in_batch_codes(shown, arrivals.batch)
    arrivals = arrivals._replace(batch=batch)
    arrivals = _without_covered(shown, table, arrivals, fate)
    return _Deciding(state, shown, table, arrivals, fate, fresh).decide()


def _check_names(state: State, frame: OpenFrame) -> None:
    check_columns(frame, (*state.spec.columns, *state.rules.row_key))
    check_look_alikes(state.spec, frame.columns)
    added = [
        *(
            new
            for name in state.spec.quasi_identifiers
            for new in state.spec.bounds_of(name)
        ),
        state.rules.cohort,
    ]
    if twice := sorted(set(added) & set(frame.columns)):
        raise SpecError(
            f"the release would have several columns of one name: {list_names(twice)}",
            hint="rename them, or choose another name for the cohort",
        )


def _first(state: State, frame: OpenFrame, threads: int | None) -> Shown:
    """Return what is known before the first release: a tree fitted to its rows."""
    recoding = fit(
        frame.to_native(),
        state.forming_spec,
        too_small=state.rules.too_small,
        threads=threads,
    )
    columns = tuple((name, _kind(frame, name)) for name in frame.columns)
    kinds = tuple(pa.null() for _ in recoding.columns)
    none = np.zeros(0, dtype=np.uint64)
    records = no_records(len(recoding.values))
    released = pa.table({})
    cohorts = no_cohorts(kinds)
    return Shown(recoding, records, released, cohorts, none, none, none, columns)


def _kind(frame: OpenFrame, name: str) -> str:
    """Return what a column holds, as coarsely as its hash would tell it apart."""
    kind = arrow_column(frame, name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return "nothing"
    for test, text in (
        (pa.types.is_boolean, "truth"),
        (pa.types.is_integer, "numbers"),
        (pa.types.is_floating, "numbers"),
        (pa.types.is_decimal, "decimals"),
        (pa.types.is_time, "times of day"),
        (pa.types.is_duration, "spans of time"),
        (_has_zone, "moments of a time zone"),
        (pa.types.is_temporal, "moments"),
        (pa.types.is_nested, "nested"),
    ):
        if test(kind):
            return text
    return "text"


def _has_zone(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _check_kinds(shown: Shown, frame: OpenFrame) -> None:
    """Refuse a table of other columns: every row would seem to have changed."""
    known = dict(shown.columns)
    if other := sorted(set(known) ^ set(frame.columns)):
        raise SpecError(
            "columns differ from those of the first release: "
            f"{list_names(other, frame.columns)}",
            hint="a series keeps its columns; begin another one for others",
        )
    for name, kind in known.items():
        own = _kind(frame, name)
        if "nothing" not in (kind, own) and own != kind:
            raise DataError(
                f"column {name!r} held {kind} at the first release, and now {own}",
                hint="convert it: else every row would seem to have changed",
            )


def _look_up(state: State, shown: Shown, frame: OpenFrame) -> _Table:
    spec = state.spec
    fixed = [
        column.name
        for column in shown.recoding.columns
        if column.hierarchy is not None and spec.categories_of(column.name) == "set"
    ]
    row_key = state.rules.row_key
    hashes = hash_rows(frame, spec, row_key, state.key, fixed)
    values = hash_key_values(frame, row_key, state.key)
    place = find_places(shown.records.hashes.key, hashes.key)
    retired = np.append(shown.withdrawn, shown.withheld)
    table = _Table(hashes, values, place, find_places(retired, hashes.key) >= 0)
    _check_spellings(shown, table, row_key)
    return table


def _check_spellings(shown: Shown, table: _Table, row_key: Sequence[str]) -> None:
    """Refuse new keys that are known ones, written otherwise."""
    is_new = (table.record < 0) & ~table.is_retired
    is_other = is_new & (find_places(shown.key_values, table.key_value) >= 0)
    if n := int(np.count_nonzero(is_other)):
        raise DataError(
            f"{n:,} rows have the key of an earlier row, which was written "
            f"otherwise: {list_names(row_key)}",
            hint="write keys as before, such as 7 and not 7.0: else the same rows "
            "would be shown once more",
        )


def _find_unchanged(records: Records, table: _Table) -> NDArray[np.int8]:
    """Return what became of each record: those of the same cells are the same."""
    fate = np.full(records.cohort.size, GONE, dtype=np.int8)
    rows = np.flatnonzero(table.record >= 0)
    places = table.record[rows]
    before, now = records.hashes.take(places), table.hashes.take(rows)
    is_same = (before.shown == now.shown) & (before.generalized == now.generalized)
    is_same &= before.person == now.person
    fate[places] = np.where(is_same, SAME, OTHER)
    return fate


def _arrivals(
    state: State,
    shown: Shown,
    frame: OpenFrame,
    table: _Table,
    fate: NDArray[np.int8],
    threads: int | None,
) -> _Arrivals:
    """Code the rows that are new or have changed, next to what was fitted."""
    is_known = table.record >= 0
    is_open = ~is_known & ~table.is_retired
    is_open[is_known] = fate[table.record[is_known]] == OTHER
    rows = np.flatnonzero(is_open)
    some = frame if rows.size == len(frame) else open_frame(take_rows(frame, rows))
    batch = shown.recoding.encode(some, threads)
    codes = np.stack([item.codes for item in batch.columns], axis=1)
    values = np.zeros((rows.size, len(batch.values)), dtype=np.int32)
    for i, item in enumerate(batch.values):
        values[:, i] = item.codes
    person = None
    if state.spec.unit is not None:
        person = number_distinct(table.hashes.person[rows].view(np.int64))[1]
    members = Members(np.ones(rows.size, dtype=np.int64), values, person)
    return _Arrivals(rows, batch, codes, members)


def _cut(
    state: State,
    shown: Shown,
    frame: OpenFrame,
    table: _Table,
    arrivals: _Arrivals,
    threads: int | None,
) -> FreshCuts | None:
    """Cut the new rows by themselves; None: they go down the first tree."""
    if state.rules.cuts == "first":
        return None
    rows = arrivals.rows[table.record[arrivals.rows] < 0]
    batch = arrivals.batch
    if rows.size != arrivals.rows.size:
        some = open_frame(take_rows(frame, rows))
        batch = shown.recoding.encode(some, threads)
    keys = table.hashes.key[rows]
    lot = keyed_hash([keys], state.key.derive("allocation"))
    return cut_afresh(batch, lot, state.forming_spec, threads)


def _without_covered(
    shown: Shown, table: _Table, arrivals: _Arrivals, fate: NDArray[np.int8]
) -> _Arrivals:
    """Leave out rows that have changed only within what their cohorts show."""
    place = table.record[arrivals.rows]
    known = np.flatnonzero(place >= 0)
    records, cohorts = shown.records.take(place[known]), shown.cohorts
    own = records.cohort
    before, now = records.hashes, table.hashes.take(arrivals.rows[known])
    fits = (before.shown == now.shown) & (before.person == now.person)
    for i, item in enumerate(arrivals.batch.columns):
        box = covered_codes(item, Box(cohorts.low[:, i], cohorts.high[:, i]))
        code = arrivals.codes[known, i]
        inside = (box.low[own] <= code) & (code <= box.high[own])
        fits &= inside | cohorts.has_missing[own, i]
    fate[place[known[fits]]] = SAME
    is_left = np.ones(place.size, dtype=np.bool_)
    is_left[known[fits]] = False
    return _Arrivals(
        arrivals.rows[is_left],
        arrivals.batch,
        arrivals.codes[is_left],
        arrivals.members.take(is_left),
    )


class _Deciding(NamedTuple):
    """All that a release is decided by, in the codes of its arrivals."""

    state: State
    shown: Shown
    table: _Table
    arrivals: _Arrivals
    fate: NDArray[np.int8]
    """What became of each row that was shown."""
    fresh: FreshCuts | None
    """Where the new rows are, cut by themselves."""

    def decide(self) -> Step:
        """Return what the release shows."""
        formed = self._form()
        record = self.table.record[self.arrivals.rows]
        entering = np.full(self.fate.size, -1, dtype=np.int64)
        entering[record[record >= 0]] = formed.of_tuple[record >= 0]
        histories, judge = self._histories(entering), self._judge(self.state.spec)
        parts = settle(histories, judge, self.state.rules.departures)
        formed = _accepted(formed, record, parts)
        records = self.shown.records
        kept = np.flatnonzero(parts == KEPT)
        used, number = number_distinct(records.cohort[kept])
        new, order = self._new_cohorts(formed)
        cohort = np.full(self.table.record.size, -1, dtype=np.int64)
        is_same = self.fate[kept] == SAME
        cohort[self._rows_of(kept[is_same])] = number[is_same]
        is_new = formed.of_tuple >= 0
        entered = self.arrivals.rows[is_new]
        cohort[entered] = used.size + order[formed.of_tuple[is_new]]
        cohorts = self.shown.cohorts.take(used).plus(new)
        records = self._records(kept, number, is_new, cohort[entered])
        records = records.take(self._order(records, cohorts.release))
        shown = self.shown._replace(records=records, cohorts=cohorts)
        left = self.shown.records.hashes.key[parts != KEPT]
        return self._count(shown, cohort, left, entered, kept)

    def _judge(self, spec: Spec) -> Judge:
        """Return the judge of sets of rows, by the models of a spec."""
        judge = self.shown.recoding.judge(self.arrivals.batch)
        return judge._replace(spec=spec)

    def _form(self) -> Formed:
        """Form cohorts: of new rows, and of changed ones that were in one cohort."""
        record = self.table.record[self.arrivals.rows]
        group = np.zeros(record.size, dtype=np.int64)
        known = record >= 0
        group[known] = 1 + self.shown.records.cohort[record[known]]
        if self.fresh is None:
            return self._form_by_tree(np.arange(record.size), group)
        new = form_cohorts(
            self.fresh.tree,
            self.fresh.node,
            self.arrivals.members.take(~known),
            self._judge(self.state.forming_spec),
            self.state.rules.too_small,
        )
        changed = self._form_by_tree(np.flatnonzero(known), group[known])
        of_row = np.full(record.size, -1, dtype=np.int64)
        of_row[~known] = new.of_tuple
        is_in = changed.of_tuple >= 0
        of_row[known] = np.where(is_in, changed.of_tuple + new.n_cohorts, -1)
        # What those of the fresh tree show is made of their own rows alone.
        return Formed(of_row, np.append(np.full(new.n_cohorts, -1), changed.node))

    def _form_by_tree(self, chosen: Integers, group: Integers) -> Formed:
        """Form cohorts of some arrivals by the tree of the first release."""
        recoding, batch = self.shown.recoding, self.arrivals.batch
        return form_cohorts(
            recoding.tree,
            walk(guide(recoding.tree, batch.columns), self.arrivals.codes[chosen]),
            self.arrivals.members.take(chosen),
            self._judge(self.state.forming_spec),
            recoding.too_small,
            group,
        )

    def _histories(self, entering: Integers) -> Histories:
        records = self.shown.records
        person = number_distinct(records.hashes.person.view(np.int64))[1]
        counted = None if self.state.spec.unit is None else person
        lot = keyed_hash([records.hashes.person], self.state.key.derive("lots"))
        members = Members(np.ones_like(records.cohort), records.values, counted)
        return Histories(records.cohort, self.fate, entering, lot, person, members)

    def _rows_of(self, records: Integers) -> Integers:
        """Return which rows of the table some records are."""
        row = np.full(self.fate.size, -1, dtype=np.int64)
        known = np.flatnonzero(self.table.record >= 0)
        row[self.table.record[known]] = known
        return row[records]

    def _new_cohorts(self, formed: Formed) -> tuple[Cohorts, Integers]:
        """Return new cohorts by what they show, and the place of each among them."""
        recoding, batch = self.shown.recoding, self.arrivals.batch
        inside = formed.of_tuple >= 0
        owner, codes = formed.of_tuple[inside], self.arrivals.codes[inside]
        own = own_boxes(owner, codes, formed.n_cohorts)
        is_of_tree = (formed.node >= 0)[:, None]
        ends = zip(recoding.tree.box(batch.columns), own, strict=True)
        box = own.joined(
            Box(*(np.where(is_of_tree, end[formed.node], x) for end, x in ends))
        )
        labels = label_cohorts(batch.encoded, box, owner, codes, self.state.spec)
        ranks = [label_ranks(item) for item in reversed(labels)]
        rising = np.lexsort([self._lots(owner, inside, formed.n_cohorts), *ranks])
        missing = np.array([item.column.missing for item in batch.columns])
        is_blank = box.high == missing
        low, high = (np.where(is_blank, np.int32(-1), end) for end in box)
        cohorts = Cohorts(
            np.full(rising.size, self.state.chain.number + 1, dtype=np.int64),
            np.arange(1, rising.size + 1, dtype=np.int64),
            tuple(cells_of(item) for item in labels),
            low,
            high,
            is_blank,
        )
        placed = cohorts.take(rising)._replace(number=cohorts.number)
        return placed, np.argsort(rising)

    def _lots(self, owner: Integers, inside: Flags, n_cohorts: int) -> Words:
        """Return a lot for each new cohort: of those that look alike, none is first.

        Else those of new rows would precede those of changed ones.
        """
        keys = self.table.hashes.key[self.arrivals.rows[inside]]
        lots = np.full(n_cohorts, np.iinfo(np.uint64).max)
        np.minimum.at(lots, owner, keyed_hash([keys], self.state.key.derive("cohorts")))
        return lots

    def _records(
        self, kept: Integers, number: Integers, is_new: Flags, cohort: Integers
    ) -> Records:
        """Return the records of rows that stay, and of those that enter."""
        hashes, rows = self.table.hashes, self.arrivals.rows[is_new]
        is_same = self.fate[kept] == SAME
        before = self.shown.records.take(kept)._replace(cohort=number)
        as_before = before.take(~is_same)
        stay = before.take(is_same)
        stay = stay._replace(hashes=hashes.take(self._rows_of(kept[is_same])))
        enter = Records(hashes.take(rows), self.arrivals.members.values[is_new], cohort)
        return stay.plus(as_before).plus(enter)

    def _order(self, records: Records, since: Integers) -> Integers:
        """Return an order that says nothing but the cohort: by lot within it.

        Who moves to another cohort draws again, or both orders would say which row
        became which. ``since`` is the release that formed each cohort.
        """
        words = [records.hashes.key, since[records.cohort].view(np.uint64)]
        lot = keyed_hash(words, self.state.key.derive("order"))
        return np.lexsort((lot, records.cohort))

    def _count(
        self,
        shown: Shown,
        cohort: Integers,
        left: Words,
        entered: Integers,
        kept: Integers,
    ) -> Step:
        """Return the step, with the keys of those who are not shown any more."""
        keys, rows = self.table.hashes.key, self.arrivals.rows
        withdrawn = np.setdiff1d(np.append(shown.withdrawn, left), keys[entered])
        withheld, known = shown.withheld, entered
        waiting = rows[(cohort[rows] < 0) & (self.table.record[rows] < 0)]
        if self.state.rules.too_small == "withhold":
            known = np.append(known, waiting)
            withheld, waiting = np.append(withheld, keys[waiting]), waiting[:0]
        is_out = cohort < 0
        n_lingering = int(np.count_nonzero(self.fate[kept] == GONE))
        counts = RowCounts(
            n_in=cohort.size,
            n_shown=int(np.count_nonzero(~is_out)),
            n_outdated=int(np.count_nonzero(self.fate[kept] == OTHER)),
            n_waiting=waiting.size,
            n_withheld=int(np.isin(keys[is_out], withheld).sum()),
            n_withdrawn=int(np.isin(keys[is_out], withdrawn).sum()),
            n_new=entered.size,
            n_gone=int(np.count_nonzero(self.fate == GONE)),
            n_lingering=n_lingering,
        )
        if not counts.add_up or counts.n_released != shown.records.cohort.size:
            raise InternalError("rows shown and not shown do not add up to rows read")
        values = np.union1d(shown.key_values, self.table.key_value[known])
        shown = shown._replace(
            withdrawn=withdrawn, withheld=withheld, key_values=values
        )
        shown = settled_codes(shown, self.arrivals.batch)
        return Step(shown, cohort, keys, entered, kept, counts)


def _accepted(formed: Formed, record: Integers, parts: Integers) -> Formed:
    """Return the new cohorts without those of changed rows that do not enter."""
    of_row = formed.of_tuple.copy()
    known = record >= 0
    of_row[known] = np.maximum(parts[record[known]], -1)
    inside = of_row >= 0
    used, number = number_distinct(of_row[inside])
    of_row[inside] = number
    return Formed(of_row, formed.node[used])

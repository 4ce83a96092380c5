"""The first pass: count distinct tuples, batch by batch, from wherever it stopped."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from core_mondrian.streams.batches import (
    Batch,
    Place,
    Sizes,
    Wanted,
    in_order,
    read_batches,
)
from core_mondrian.streams.csv_blocks import BadRows
from core_mondrian.streams.memory import Limit
from core_mondrian.streams.pace import Pace, Pauses
from core_mondrian.streams.source import Source
from core_mondrian.streams.state import Counts, arrange, remaining
from core_mondrian.streams.tally import Counter, Tally, tally_columns

_PAUSE: Final = 2.0
"""Seconds of counting between two notes on disk, at least."""
_SHARE: Final = 0.05
"""Of the time that may go into them."""


@dataclass(frozen=True)
class FirstPass:
    """What is counted, and how."""

    source: Source
    columns: tuple[str, ...]
    sizes: Sizes
    limit: Limit
    bad: BadRows
    policy: str
    save: Callable[[Counts], None] | None = None
    """Keeps what is counted so far, in case of an interrupt."""

    def run(self, before: Counts | None, report: Callable[[float], None]) -> Counts:
        """Count what ``before`` has not, and return all."""
        rest, start = remaining(self.source, before)
        first = self._empty() if before is None else arrange(before, self.columns)
        counter = Counter(first)
        noted = _Notes(self, before, rest)
        pace = Pace(report)
        batches = read_batches(
            rest,
            Wanted(self.columns, coded=self.columns),
            self.sizes,
            bad=self.bad,
            start=start,
        )
        for batch, tally in in_order(self._tally, batches, self.sizes):
            if counter.add(tally):
                n_tuples = counter.whole().n_tuples
                self.limit.check_tuples(n_tuples, len(self.columns), self.policy)
            self.limit.check_now()
            noted.keep(batch, counter)
            pace.step(tally.n_rows, share_done(rest, batch))
        return noted.finish(counter)

    def _tally(self, batch: Batch) -> tuple[Batch, Tally]:
        table = batch.load()
        return batch, tally_columns(table.columns, table.num_rows)

    def _empty(self) -> Tally:
        return tally_columns(self.source.no_rows().select(self.columns).columns, 0)


def share_done(source: Source, batch: Batch) -> float:
    """Return how much of a source is read, by the size of its parts."""
    sizes = [part.size for part in source.parts]
    number = batch.stop.part
    whole = sum(sizes[:number])
    own = sizes[number] * batch.done if number < len(sizes) else 0.0
    return float(min((whole + own) / max(sum(sizes), 1), 1.0))


class _Notes:
    """Keeps the counts now and then."""

    def __init__(self, work: FirstPass, before: Counts | None, rest: Source) -> None:
        self._work = work
        self._rest = rest
        self._known = () if before is None else before.parts
        if before is not None and not before.is_whole:
            self._known = self._known[:-1]
        self._pauses = Pauses(_PAUSE, _SHARE)

    def keep(self, batch: Batch, counter: Counter) -> None:
        """Write down what is counted, if that is worth it."""
        save = self._work.save
        if save is not None:
            self._pauses.do(
                lambda: save(self._counts(counter.whole(), batch.stop, batch.n_bad))
            )

    def finish(self, counter: Counter) -> Counts:
        """Return the counts of all parts, kept as well."""
        counts = self._counts(
            counter.whole(), Place(len(self._rest.parts)), self._work.bad.n
        )
        if self._work.save is not None:
            self._work.save(counts)
        return counts

    def _counts(self, tally: Tally, place: Place, n_bad: int) -> Counts:
        n_parts = place.part + (1 if place.part < len(self._rest.parts) else 0)
        parts = [part.fingerprint() for part in self._rest.parts[:n_parts]]
        return Counts(
            *(self._work.source.kind, self._work.columns, tally),
            (*self._known, *parts),
            place._replace(part=len(self._known) + place.part),
            n_bad,
            self._work.bad.first if n_bad else "",
        )

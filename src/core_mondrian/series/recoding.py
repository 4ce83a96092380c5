"""fit() and Recoding: a tree fitted once, and applied to new rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.api import (
    check_threads,
    load_and_encode,
    make_pseudonyms,
    release_rows,
)
from core_mondrian.encoding.columns import rank_column
from core_mondrian.encoding.encoder import Coded, Encoded, collapse
from core_mondrian.engine.grow import grow
from core_mondrian.errors import InternalError, SpecError, drops_context
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.learned import Learned
from core_mondrian.hierarchies.uncovered import Uncovered
from core_mondrian.recoding.labels import number_distinct
from core_mondrian.recoding.recode import Recoded, release_digest
from core_mondrian.runtime.array_types import Frame
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.runtime.stages import Spent, Stages
from core_mondrian.runtime.threads import map_columns
from core_mondrian.series.cohorts import TOO_SMALL, Formed, TooSmall, form_cohorts
from core_mondrian.series.fitted_columns import (
    FittedColumn,
    FittedValues,
    NextColumn,
    NextValues,
)
from core_mondrian.series.judge import Judge, Members, is_compared
from core_mondrian.series.private_file import read_private, write_private
from core_mondrian.series.recoding_tree import (
    RecodingTree,
    guide,
    named_codes,
    renumbered,
    tree_of,
    walk,
)
from core_mondrian.series.shown_cells import Box, show_cohorts, show_nodes
from core_mondrian.spec.declaration import (
    RANGES,
    Spec,
    as_spec,
    check_choice,
    check_look_alikes,
)
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.spec.suppression import Suppression
from core_mondrian.tables.files.cells import unified_texts, without_nulls
from core_mondrian.tables.frames import (
    OpenFrame,
    arrow_column,
    check_columns,
    drop_column,
    filter_rows,
    open_frame,
)
from core_mondrian.tables.keys import key_for
from core_mondrian.verification.verify import Verification, verify, verify_beside

FrameT = TypeVar("FrameT")
KIND: Final = "recoding"
VERSION: Final = 2


@dataclass(frozen=True)
class Applied(Generic[FrameT]):
    """New rows as a recoding shows them, verified."""

    data: FrameT
    """The caller's kind of frame: rows that are shown, and, if the spec blanks
    suppressed rows, the others with blanks."""
    suppressed: FrameT | None = field(repr=False)
    """With ``suppressed = "separate"``: the rows not shown, as they came in."""
    spec: Spec
    verification: Verification
    shown: NDArray[np.bool_] = field(repr=False)
    """Of each row that came in: whether it is shown."""
    cohort_sizes: NDArray[np.int64] = field(repr=False)
    """Rows of each cohort."""
    spent: Mapping[str, Spent] = field(repr=False)
    _recoded: Recoded = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"Applied({self.n_shown:,} of {self.n_rows:,} rows in "
            f"{self.verification.n_classes:,} classes, digest {self.digest[:12]})"
        )

    @property
    def n_rows(self) -> int:
        """Rows that came in."""
        return int(self.shown.size)

    @property
    def n_shown(self) -> int:
        """Rows that are shown; the others are too few anywhere on their way up."""
        return int(np.count_nonzero(self.shown))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the released tuples as a multiset: no row order, no frames."""
        return release_digest(self._recoded, self.spec)


@dataclass(frozen=True)
class Recoding:
    """A disjoint tree with what each node shows; see `fit`."""

    spec: Spec
    columns: tuple[FittedColumn, ...]
    values: tuple[FittedValues, ...]
    """Of sensitive columns: what classes are compared with, where a model does."""
    tree: RecodingTree = field(repr=False)
    too_small: TooSmall = "ancestor"

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"Recoding({names}; {self.tree.leaves.size} classes)"

    @drops_context
    def apply(
        self, data: FrameT, *, key: bytes | None = None, threads: int | None = None
    ) -> Applied[FrameT]:
        """Show new rows by this recoding.

        A row goes down the tree as far as cuts can place its values, and is shown in
        the finest node whose new rows pass the models together. The order of rows
        decides nothing. Rows that were shown before must not come again: that is what
        a `Series` is for.

        Raises:
            SpecError: a column is missing, or pseudonyms need a key.
            DataError: a value does not fit what was fitted.
            PrivacyViolation: what came out failed its verification.
        """
        check_threads(threads)
        secret = key_for(key, self.spec.pseudonyms)
        stages = Stages(None)
        frame = open_frame(data)
        check_columns(frame, self.spec.columns)
        check_look_alikes(self.spec, frame.columns)
        batch = self.encode(frame, threads)
        stages.end("encode")
        node = self.stops(batch)
        formed = form_cohorts(
            self.tree, node, batch.members, self.judge(batch), self.too_small
        )
        stages.end("place")
        recoded = self.show(batch, formed)
        leaf = recoded_leaf(formed, batch.encoded)
        hidden = make_pseudonyms(frame, self.spec, secret)
        released = release_rows(frame, self.spec, recoded, leaf, hidden, threads)
        stages.end("recode")
        shown = leaf >= 0
        verification = self.verify(released, int(np.count_nonzero(~shown)), threads)
        if self.spec.is_unit_removed:
            released = drop_column(released, str(self.spec.unit))
        _check_rows(verification, shown, self.spec)
        stages.end("verify")
        is_separate = self.spec.suppressed == "separate"
        return Applied(
            data=released,
            suppressed=filter_rows(frame, ~shown) if is_separate else None,
            spec=self.spec,
            verification=verification,
            shown=shown,
            cohort_sizes=np.bincount(leaf[shown], minlength=formed.n_cohorts),
            spent=stages.spent,
            _recoded=recoded,
        )

    @drops_context
    def place(self, data: FrameT, *, threads: int | None = None) -> FrameT:
        """Show every row in the finest node it comes to, however few they are.

        What a row shows depends on that row alone. That is no release: k new rows need
        not share it. It is for whoever may see the rows, such as to score them by a
        model that was trained on anonymized ones.

        Raises:
            SpecError: a column is missing.
            DataError: a value does not fit what was fitted.
        """
        check_threads(threads)
        frame = open_frame(data)
        check_columns(frame, self.spec.columns)
        batch = self.encode(frame, threads)
        used, number = number_distinct(self.stops(batch))
        recoded = show_nodes(
            batch.encoded,
            Formed(number, used),
            Box(*self.tree.box(batch.columns)),
            self.spec,
        )
        leaf = recoded_leaf(Formed(number, used), batch.encoded)
        hidden = make_pseudonyms(frame, self.spec, key_for(None, self.spec.pseudonyms))
        shown = release_rows(frame, self.spec, recoded, leaf, hidden, threads)
        if self.spec.is_unit_removed:
            shown = drop_column(shown, str(self.spec.unit))
        return shown  # type: ignore[no-any-return]

    def encode(self, frame: OpenFrame, threads: int | None = 1) -> "Batch":
        """Code new rows together with what was fitted, and count their tuples.

        Raises:
            DataError: a value does not fit what was fitted.
        """
        spec, n_rows = self.spec, len(frame)
        encode = partial(_encode_column, frame, spec)
        columns = map_columns(encode, self.columns, n_rows, threads)
        values = [
            item.encode(unified_texts(arrow_column(frame, item.name), spec.null_values))
            for item in self.values
        ]
        codes = [item.codes for item in columns] + [item.codes for item in values]
        n_units = None
        if spec.unit is not None:
            persons = unified_texts(arrow_column(frame, spec.unit), spec.null_values)
            units = rank_column(persons, spec.unit)
            codes.append(units.codes)
            n_units = len(units.values) + 1  # rows of nobody count as one person's
        coded = Coded(
            tuple(item.column for item in columns),
            tuple(item.column for item in values),
            codes,
            tuple(item.values for item in columns),
            n_rows,
            n_units,
            n_blanked=sum(item.n_blanked for item in columns),
        )
        return Batch(tuple(columns), tuple(values), collapse(coded, threads))

    def stops(self, batch: "Batch") -> NDArray[np.int64]:
        """Return the node at which each tuple of new rows stops."""
        table = batch.encoded.table
        codes = table.codes[:, : len(table.columns)]
        return walk(guide(self.tree, batch.columns), codes)

    def judge(self, batch: "Batch") -> Judge:
        """Return what sets of these new rows have to satisfy."""
        return Judge(
            self.spec,
            tuple(item.column for item in batch.values),
            tuple(item.known for item in batch.values),
        )

    def show(self, batch: "Batch", formed: Formed) -> Recoded:
        """Say what each cohort of new rows shows."""
        nodes = Box(*self.tree.box(batch.columns))
        return show_cohorts(batch.encoded, formed, nodes, self.spec)

    def verify(self, released: Frame, budget: int, threads: int | None) -> Verification:
        """Recount what was made of new rows, by code that shares nothing with it.

        Raises:
            PrivacyViolation: a class fails.
        """
        known = self.compared()
        if not known:
            return verify(released, self.spec, budget=budget, threads=threads)
        return verify_beside(released, self.spec, known, budget=budget, threads=threads)

    def compared(self) -> dict[str, tuple[pa.Table, NDArray[np.int64]]]:
        """Return the values of the fit, of columns that models compare classes by."""
        names = {str(x.column) for x in self.spec.models if is_compared(x)}
        return {
            item.name: _as_cells(item) for item in self.values if item.name in names
        }

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the recoding to one file of mode 0600. Keep it: it names values.

        Raises:
            SpecError: the file exists and is not to be overwritten.
            OutputError: it cannot be written.
        """
        write_private(Path(path), KIND, VERSION, self.to_parts(), overwrite=overwrite)

    @classmethod
    @drops_context
    def load(cls, path: str | Path, spec: Spec | None = None) -> "Recoding":
        """Read a recoding that `save` has written.

        ``spec`` is needed where a file cannot tell all of it, such as a model of your
        own; if it is given, it has to be the one of the fit.

        Raises:
            DataError: it is no recoding, of another version, or damaged.
            SpecError: it was fitted for another spec, or needs the spec.
        """
        return cls.from_parts(read_private(Path(path), KIND, VERSION), spec)

    def to_parts(self) -> JsonObject:
        """Return the recoding as tables and plain values."""
        from core_mondrian.series.recoding_parts import recoding_parts

        return recoding_parts(self)

    @classmethod
    def from_parts(cls, parts: JsonMapping, spec: Spec | None) -> "Recoding":
        """Return the recoding of `to_parts`; see `load`."""
        from core_mondrian.series.recoding_parts import read_recoding

        return read_recoding(parts, spec)


class Batch(NamedTuple):
    """New rows, coded together with what was fitted."""

    columns: tuple[NextColumn, ...]
    values: tuple[NextValues, ...]
    encoded: Encoded

    @property
    def members(self) -> Members:
        """The tuples as the models see them."""
        table = self.encoded.table
        first = len(table.columns)
        values = table.codes[:, first : first + len(table.sensitive)]
        person = None if table.n_units is None else table.codes[:, -1].astype(np.int64)
        return Members(table.counts, values, person)


@drops_context
def fit(
    data: Frame,
    spec: Spec | str | Iterable[str] | None = None,
    *,
    too_small: TooSmall = "ancestor",
    threads: int | None = None,
    **keys: Any,  # noqa: ANN401
) -> Recoding:
    """Fit a recoding: cut the table as `anonymize` does, and keep the cuts.

    ``fit(people, ["age", "sex"], k=5)`` is short for
    ``fit(people, Spec(["age", "sex"], k=5))``.

    Classes are disjoint and missing is one more value, whatever the spec's defaults.
    ``too_small`` says what becomes of new rows that are too few where they stop: they
    move up to an ancestor, wait for more (in a series), or are withheld.

    Raises:
        SpecError: the spec asks for what no recoding can do, or does not fit the data.
        InfeasibleError: no release satisfies the models.
    """
    check_threads(threads)
    check_choice("too_small", too_small, TOO_SMALL)
    wanted = fitting_spec(as_spec(spec, keys))
    frame, encoded = load_and_encode(data, wanted, Stages(None), threads)
    check_look_alikes(wanted, frame.columns)
    grown = grow(encoded.table, wanted, threads=threads)
    tree = tree_of(grown, encoded.table)
    columns = []
    for i in range(len(encoded.table.columns)):
        fitted, tree = _fitted_column(encoded, tree, i, wanted)
        columns.append(fitted)
    values = tuple(_fitted_values(frame, name, wanted) for name in wanted.sensitive)
    return Recoding(wanted, tuple(columns), values, tree, too_small)


def _fitted_column(
    encoded: Encoded, tree: RecodingTree, i: int, spec: Spec
) -> tuple[FittedColumn, RecodingTree]:
    """Return a column as it is fitted, and the tree with its fitted codes."""
    column, values = encoded.table.columns[i], encoded.values[i]
    if column.kind == "category":
        builder = builder_of(spec, column.name)
        return FittedColumn(column.name, values, column.hierarchy, builder), tree
    named = named_codes(tree, i)
    numbers = np.full(column.n_values, -1, dtype=np.int32)
    numbers[named] = np.arange(named.size)
    fitted = FittedColumn(column.name, values.take(pa.array(named)), None)
    return fitted, renumbered(tree, i, numbers)


def _fitted_values(frame: OpenFrame, name: str, spec: Spec) -> FittedValues:
    ranked = rank_column(
        unified_texts(arrow_column(frame, name), spec.null_values), name
    )
    rows = np.bincount(ranked.codes, minlength=len(ranked.values) + 1)
    return FittedValues(name, ranked.values, rows.astype(np.int64))


def fitting_spec(spec: Spec) -> Spec:
    """Return the spec as a recoding is fitted by it.

    Raises:
        SpecError: it asks for what new rows cannot be shown by.
    """
    wrong = {
        "a population": spec.population is not None,
        "a target": spec.target is not None,
        "missing = 'pattern'": spec.missing == "pattern",
        "a suppression budget": _has_budget(spec),
        "nice bounds": any(spec.is_nice(name) for name in spec.quasi_identifiers),
        "numbers as mean, median or sample": any(
            spec.format_of(name) not in (*RANGES, "midpoint")
            for name in spec.quasi_identifiers
        ),
        "a policy that says what classes show": (
            getattr(type(spec.policy), "show", None) is not None
        ),
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise SpecError(
                f"a recoding for new rows does not go with {what}",
                hint="a node shows the same for all rows that come to it; leave it out",
            )
    policy = spec.policy
    if isinstance(policy, BestPolicy):
        policy = replace(policy, disjoint=True)
    return replace(spec, policy=policy, missing="value", suppress=Suppression(rows=0))


def _has_budget(spec: Spec) -> bool:
    return spec.suppress is not None and spec.suppress.whole_rows(10**9) > 0


def _encode_column(frame: OpenFrame, spec: Spec, column: FittedColumn) -> NextColumn:
    array = without_nulls(arrow_column(frame, column.name), spec.null_values)
    is_asked = column.name in spec.hierarchies
    how: Uncovered = spec.uncovered_of(column.name) if is_asked else "own branch"
    return column.encode(array, how)


def recoded_leaf(formed: Formed, encoded: Encoded) -> NDArray[np.int32]:
    """Return the cohort of each row; -1: it is in none."""
    leaf: NDArray[np.int32] = formed.of_tuple.astype(np.int32)[encoded.row_tuple]
    return leaf


def _as_cells(item: FittedValues) -> tuple[pa.Table, NDArray[np.int64]]:
    cells = pa.concat_arrays([item.labels, pa.nulls(1, item.labels.type)])
    return pa.table({item.name: cells}), item.rows


def _check_rows(
    verification: Verification, shown: NDArray[np.bool_], spec: Spec
) -> None:
    n_shown = int(np.count_nonzero(shown)) if spec.leaves_out else shown.size
    if verification.n_rows != n_shown:
        raise InternalError("rows shown and not shown do not add up to rows read")


def builder_of(spec: Spec, column: str) -> Builder | None:
    """Return what places values of a column in a tree; one that learns needs rows."""
    entry = spec.hierarchies.get(column)
    is_built = isinstance(entry, Builder) and not isinstance(entry, Learned)
    return entry if is_built else None  # type: ignore[return-value]

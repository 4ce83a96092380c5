"""Tuples as a relation: counted and divided by plain SQL, wherever they are.

A relation has the columns ``id`` (the number of a tuple in the order of its codes),
``c0 …`` (quasi-identifiers), ``s0 …`` (sensitive), ``u`` (person), ``l0 …`` (levels of
numbers, see `loss_weights`) and ``n`` (rows). While a tree is grown, ``planted`` has
them with ``node`` as well. The SQL is what DuckDB and Spark have in common.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.engine.layout import Codes, Counts
from core_mondrian.engine.marginals import Marginal, Moments, Pairs
from core_mondrian.engine.missing_patterns import (
    Chosen,
    CountedPatterns,
    PatternTuples,
    Repaired,
)
from core_mondrian.engine.search.loss_weights import number_levels
from core_mondrian.engine.top import NodeCut
from core_mondrian.errors import InternalError, SpecError
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.part_tasks import Blanked
from core_mondrian.tables.encoded import EncodedTable

TUPLES: Final = "tuples"
PLANTED: Final = "planted"
_MOST_BITS: Final = 62


@dataclass(frozen=True)
class TupleShape:
    """What the columns of the relation are."""

    table: EncodedTable
    """Without tuples."""

    @property
    def codes(self) -> list[str]:
        """The quasi-identifiers."""
        return [f"c{i}" for i in range(len(self.table.columns))]

    @property
    def others(self) -> list[str]:
        """What the models look at besides: sensitive codes, and the person."""
        unit = [] if self.table.n_units is None else ["u"]
        return [f"s{i}" for i in range(len(self.table.sensitive))] + unit

    @property
    def numbers(self) -> list[int]:
        """Which of the quasi-identifiers are numbers."""
        columns = self.table.columns
        return [i for i, column in enumerate(columns) if column.kind == "number"]

    @property
    def levels(self) -> list[str]:
        """The levels of the numbers."""
        return [f"l{i}" for i in self.numbers]

    @property
    def names(self) -> list[str]:
        """All columns."""
        return ["id", *self.codes, *self.others, *self.levels, "n"]

    @property
    def record(self) -> list[str]:
        """The columns of a record, as the engine has them."""
        return [*self.codes, *self.others, "n", "id"]

    @property
    def sizes(self) -> list[int]:
        """How many codes each quasi-identifier, sensitive column and the unit has."""
        sizes = [column.n_values for column in self.table.columns]
        sizes += [column.n_values for column in self.table.sensitive]
        return sizes + ([] if self.table.n_units is None else [self.table.n_units])

    def batch(self, codes: Codes, rows: Counts, first: int) -> pa.Table:
        """Return tuples of the relation, numbered from ``first`` on."""
        numbers = np.arange(first, first + len(codes), dtype=np.int32)
        columns: dict[str, Any] = {"id": numbers}
        names = [*self.codes, *self.others]
        columns |= {name: codes[:, i] for i, name in enumerate(names)}
        for i in self.numbers:
            levels = number_levels(self.table.columns[i])
            columns[f"l{i}"] = levels[codes[:, i]].astype(np.int32)
        columns["n"] = rows.astype(np.int32)
        return pa.table({name: columns[name] for name in self.names})


class TupleRelation(ABC):
    """Counts and divides tuples by SQL; who has them says how it is run."""

    shape: TupleShape
    n_tuples: int
    stages: Stages

    def named(self, name: str) -> str:
        """Return what SQL calls a relation."""
        return name

    @abstractmethod
    def query(self, sql: str, by: Sequence[str] = ()) -> pa.Table:
        """Return what a query finds, in the order of some of its columns."""

    @abstractmethod
    def scan(self, sql: str) -> Iterator[pa.Table]:
        """Return the tuples that a query finds by their ``id``, some at a time."""

    @abstractmethod
    def replace(self, name: str, sql: str) -> None:
        """Make a relation of what a query finds, instead of one of that name."""

    @abstractmethod
    def upload(self, name: str, table: pa.Table) -> None:
        """Make a small relation, instead of one of that name."""

    @property
    def _tuples(self) -> str:
        return self.named(TUPLES)

    @property
    def _planted(self) -> str:
        return self.named(PLANTED)

    # The roots, see `missing_patterns`.

    def count(self) -> CountedPatterns:
        others = self.shape.others
        keys = ", ".join(["p", *others])
        counted = self.query(
            f"SELECT {keys}, sum(n) AS n FROM (SELECT {self._pattern} AS p, "
            f"{', '.join([*others, 'n'])} FROM {self._tuples}) AS t GROUP BY {keys}"
        )
        bits, place = np.unique(counted["p"].to_numpy(), return_inverse=True)
        self._bits_of_pattern = bits
        rows = counted["n"].to_numpy().astype(np.int64)
        by_value = []
        for i, column in enumerate(self.shape.table.sensitive):
            cells = place * column.n_values + counted[f"s{i}"].to_numpy()
            found = np.bincount(cells, rows, bits.size * column.n_values)
            shape = bits.size, column.n_values
            by_value.append(found.astype(np.int64).reshape(shape))
        units = [set[int]() for _ in bits]
        if "u" in others:
            persons = counted["u"].to_numpy()
            for i, own in enumerate(units):
                own.update(persons[place == i].tolist())
        total = np.bincount(place, rows, bits.size).astype(np.int64)
        return CountedPatterns(self._missing(bits), total, tuple(by_value), units)

    @property
    def _pattern(self) -> str:
        """An expression of the missing pattern, the first column highest."""
        columns = self.shape.table.columns
        if len(columns) > _MOST_BITS:
            raise SpecError(
                f"missing patterns of more than {_MOST_BITS} quasi-identifiers cannot "
                "be counted",
                hint="take missing = 'value', or fewer quasi-identifiers",
            )
        bits = [
            f"CASE WHEN c{i} = {column.missing} THEN {1 << (len(columns) - 1 - i)} "
            "ELSE 0 END"
            for i, column in enumerate(columns)
        ]
        return " + ".join(f"CAST({bit} AS BIGINT)" for bit in bits)

    def _missing(self, bits: NDArray[np.int64]) -> NDArray[np.bool_]:
        n = len(self.shape.codes)
        shifts = np.arange(n - 1, -1, -1)
        return (bits[:, np.newaxis] >> shifts & 1).astype(np.bool_)

    def tuples(self, chosen: Chosen) -> Iterator[PatternTuples]:
        wanted = self._bits_of_pattern[chosen.patterns]
        self.upload("chosen_patterns", pa.table({"p": wanted}))
        self.upload("chosen_gone", pa.table({"id": chosen.dropped.astype(np.int32)}))
        self.upload("chosen_more", pa.table({"id": chosen.more.astype(np.int32)}))
        names = ", ".join(f"t.{x}" for x in ["id", "p", "n", *self.shape.others])
        plain = ", ".join(["id", "n", *self.shape.others])
        for batch in self.scan(
            f"SELECT {names} FROM (SELECT {self._pattern} AS p, {plain} "
            f"FROM {self._tuples}) AS t "
            f"LEFT JOIN {self.named('chosen_patterns')} AS c ON c.p = t.p "
            f"LEFT JOIN {self.named('chosen_gone')} AS g ON g.id = t.id "
            f"LEFT JOIN {self.named('chosen_more')} AS m ON m.id = t.id "
            "WHERE (c.p IS NOT NULL AND g.id IS NULL) OR m.id IS NOT NULL"
        ):
            sensitive = [name for name in self.shape.others if name != "u"]
            codes = [batch[name].to_numpy() for name in sensitive]
            empty = np.zeros((batch.num_rows, 0), dtype=np.int32)
            yield PatternTuples(
                batch["id"].to_numpy().astype(np.int64),
                np.searchsorted(self._bits_of_pattern, batch["p"].to_numpy()),
                batch["n"].to_numpy().astype(np.int64),
                np.stack(codes, axis=1) if codes else empty,
                batch["u"].to_numpy() if "u" in self.shape.others else None,
            )

    def plant(self, repaired: Repaired | None) -> None:
        """Begin anew, each tuple below its root."""
        names = self.shape.names
        if repaired is None:
            own = ", ".join([*names, "CAST(0 AS INT) AS node"])
            self.replace(PLANTED, f"SELECT {own} FROM {self._tuples}")
            return
        self._upload_roots(repaired)
        rooted = (
            f"SELECT t.*, coalesce(m.root, r.root) AS node FROM (SELECT *, "
            f"{self._pattern} AS p FROM {self._tuples}) AS t "
            f"JOIN {self.named('pattern_roots')} AS r ON r.p = t.p "
            f"LEFT JOIN {self.named('moved_roots')} AS m ON m.id = t.id"
        )
        cells = [self._blanked(name, repaired) for name in names]
        self.replace(PLANTED, f"SELECT {', '.join(cells)}, node FROM ({rooted}) AS t")

    def _upload_roots(self, repaired: Repaired) -> None:
        roots = repaired.root_of_pattern.astype(np.int32)
        self.upload(
            "pattern_roots", pa.table({"p": self._bits_of_pattern, "root": roots})
        )
        moved = np.array([*repaired.root_of_moved.items()], dtype=np.int32)
        moved = moved.reshape(len(repaired.root_of_moved), 2)
        self.upload("moved_roots", pa.table({"id": moved[:, 0], "root": moved[:, 1]}))

    def _blanked(self, name: str, repaired: Repaired) -> str:
        """Return a column with the missing code where its root is blank."""
        if name[0] not in "cl" or not repaired.n_blanked:
            return name
        i = int(name[1:])
        column = self.shape.table.columns[i]
        blank = np.flatnonzero(repaired.missing[:, i]).tolist()
        if not blank:
            return name
        missing = column.missing
        if name[0] == "l":
            missing = int(number_levels(column)[missing])
        inside = ", ".join(map(str, blank))
        return f"CASE WHEN node IN ({inside}) THEN {missing} ELSE {name} END AS {name}"

    def blanked(self) -> Blanked:
        """Return the tuples of which cells were blanked, as they came in."""
        codes = self.shape.codes
        differs = " OR ".join(f"t.{name} <> p.{name}" for name in codes)
        cells = ", ".join(f"t.{name}" for name in ["id", *codes])
        found = self.query(
            f"SELECT {cells} FROM {self._tuples} AS t "
            f"JOIN {self._planted} AS p ON p.id = t.id WHERE {differs}",
            by=["id"],
        )
        own = [found[name].to_numpy().astype(np.int32) for name in codes]
        return Blanked(found["id"].to_numpy().astype(np.int64), np.stack(own, axis=1))

    def sample(self, numbers: NDArray[np.int64]) -> Codes:
        self.upload("sampled", pa.table({"id": numbers.astype(np.int32)}))
        names = ", ".join(f"p.{name}" for name in ["node", *self.shape.record])
        found = self.query(
            f"SELECT {names} FROM {self._planted} AS p "
            f"JOIN {self.named('sampled')} AS s ON s.id = p.id",
            by=["node", "id"],
        )
        return as_records(found, self.shape.record)

    # The top of the tree, see `top`.

    def sizes(self, nodes: Sequence[int]) -> dict[int, int]:
        """Count the tuples of nodes, and report how many are in nodes that fit."""
        report = self.stages.report("cut")
        found = self._sizes(nodes) if nodes else {}
        report(1 - sum(found.values()) / max(self.n_tuples, 1))
        return found

    def _sizes(self, nodes: Sequence[int]) -> dict[int, int]:
        found = self.query(
            f"SELECT node, count(*) AS n FROM {self._planted} GROUP BY node"
        )
        pairs = zip(found["node"].to_pylist(), found["n"].to_pylist(), strict=True)
        known = dict(pairs)
        return {node: known.get(node, 0) for node in nodes}

    def marginals(self, nodes: Sequence[int], columns: Sequence[int]) -> list[Marginal]:
        others = self.shape.others
        codes = [f"c{column}" for column in columns]
        found = self.grouped_each(nodes, ["node", *others], codes)
        return [self._marginal(*each) for each in zip(found, codes, strict=True)]

    def _marginal(self, found: pa.Table, code: str) -> Marginal:
        others = [found[name].to_numpy() for name in self.shape.others]
        empty = np.zeros((found.num_rows, 0), dtype=np.int32)
        return Marginal(
            found["node"].to_numpy(),
            np.stack(others, axis=1) if others else empty,
            found[code].to_numpy(),
            found["n"].to_numpy().astype(np.int64),
        )

    def pairs(
        self, nodes: Sequence[int], column: int, others: Sequence[int]
    ) -> list[Pairs]:
        first, codes = f"c{column}", [f"c{other}" for other in others]
        found = self.grouped_each(nodes, ["node", first], codes)
        return [
            Pairs(
                table["node"].to_numpy(),
                table[first].to_numpy(),
                table[code].to_numpy(),
                table["n"].to_numpy().astype(np.int64),
            )
            for table, code in zip(found, codes, strict=True)
        ]

    def moments(self, nodes: Sequence[int], column: int) -> Moments:
        numbers = self.shape.numbers
        sums = [
            *(f"min(c{i}) AS low{i}, max(c{i}) AS high{i}" for i in numbers),
            *(f"sum(CAST(l{i} AS BIGINT) * n) AS levels{i}" for i in numbers),
            *(
                f"sum(CAST(l{i} AS BIGINT) * CAST(l{i} AS BIGINT) * n) AS squares{i}"
                for i in numbers
            ),
        ]
        found = self._grouped(nodes, ["node", f"c{column}"], ", ".join(sums))

        def stacked(name: str, kind: type) -> NDArray[Any]:
            own = [found[f"{name}{i}"].to_numpy().astype(kind) for i in numbers]
            empty = np.zeros((found.num_rows, 0), dtype=kind)
            return np.stack(own, axis=1) if own else empty

        return Moments(
            found["node"].to_numpy(),
            found[f"c{column}"].to_numpy(),
            stacked("low", np.int32),
            stacked("high", np.int32),
            stacked("levels", np.int64),
            stacked("squares", np.int64),
        )

    def grouped_each(
        self, nodes: Sequence[int], keys: list[str], each: Sequence[str]
    ) -> list[pa.Table]:
        """Add up the rows of partitions by keys and one more, after the other."""
        return [self._grouped(nodes, [*keys, one], "sum(n) AS n") for one in each]

    def _grouped(self, nodes: Sequence[int], keys: list[str], sums: str) -> pa.Table:
        """Add up partitions by keys, in the order of these."""
        by = ", ".join(keys)
        wanted = ", ".join(map(str, nodes))
        sums = sums or "1 AS nothing"
        return self.query(
            f"SELECT {by}, {sums} FROM {self._planted} WHERE node IN ({wanted}) "
            f"GROUP BY {by}",
            by=keys,
        )

    def divide(self, cuts: Sequence[NodeCut]) -> None:
        """Give the tuples of nodes to their children."""
        numbers = [cut for cut in cuts if cut.child is None]
        lists = [cut for cut in cuts if cut.child is not None]
        cases = [
            f"WHEN node = {cut.node} THEN CASE WHEN c{cut.column} <= {cut.cut_code} "
            f"THEN {cut.first} ELSE {cut.first + 1} END"
            for cut in numbers
        ]
        relation = self._planted
        if lists:
            self.upload("children", _children(lists))
            codes = " ".join(f"WHEN {x.node} THEN c{x.column}" for x in lists)
            relation = (
                f"(SELECT p.*, k.child FROM {self._planted} AS p "
                f"LEFT JOIN {self.named('children')} AS k ON k.parent = p.node "
                f"AND k.code = CASE p.node {codes} END) AS p"
            )
            inside = ", ".join(str(cut.node) for cut in lists)
            cases.append(f"WHEN node IN ({inside}) THEN child")
        names = ", ".join(self.shape.names)
        self.replace(
            PLANTED,
            f"SELECT {names}, CAST(CASE {' '.join(cases)} ELSE node END AS INT) "
            f"AS node FROM {relation}",
        )


def _children(cuts: Sequence[NodeCut]) -> pa.Table:
    """Return the child of each code of nodes that are cut by lists of codes."""
    parents, codes, children = [], [], []
    for cut in cuts:
        if cut.child is None:
            raise InternalError("a cut without a list of codes")
        parents.append(np.full(cut.child.size, cut.node, dtype=np.int32))
        codes.append(np.arange(cut.child.size, dtype=np.int32))
        children.append((cut.first + cut.child).astype(np.int32))
    columns = {"parent": parents, "code": codes, "child": children}
    return pa.table({name: np.concatenate(x) for name, x in columns.items()})


def as_records(table: pa.Table, names: Sequence[str]) -> Codes:
    """Return columns of whole numbers as records."""
    records = np.empty((table.num_rows, len(names)), dtype=np.int32)
    for i, name in enumerate(names):
        records[:, i] = table[name].to_numpy()
    return records

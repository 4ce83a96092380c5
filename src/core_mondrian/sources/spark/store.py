"""Tuples on a cluster: counted by Spark, solved part by part in its executors.

A stage is a relation with one row per part: its arrays, and what is known of it. Both
are packed; only the latter comes to the driver.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import pyarrow as pa

from core_mondrian.engine.parts import PartRoots, Task
from core_mondrian.errors import InternalError
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.spark.arrow import send
from core_mondrian.sources.spark.coding import NumberedTuples
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.packing import unpack_value
from core_mondrian.sources.spark.relations import Relations
from core_mondrian.sources.spark.workers import PART, doing, packing
from core_mondrian.sources.tuple_relation import PLANTED, TupleRelation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ResultT = TypeVar("ResultT")
_SCHEMA: Final = f"{PART} INT, arrays BINARY, summary BINARY"
_SLICE: Final = 1 << 16
_MOST: Final = 1 << 20
"""Tuples that come here at a time: few at first, for few are enough mostly."""


class SparkStore(TupleRelation):
    """See `parts.PartitionStore`; ``tuples`` is one of the relations."""

    def __init__(
        self,
        relations: Relations,
        coded: NumberedTuples,
        task_tuples: int,
        stages: Stages,
    ) -> None:
        self.relations = relations
        self.shape = coded.shape
        self.task_tuples = task_tuples
        self.n_tuples = coded.n_tuples
        self.stages = stages
        self.stage = "partition"
        """What is done with parts at the moment."""
        self._n_parts: dict[str, int] = {}

    def named(self, name: str) -> str:
        return self.relations.view(name)

    def query(self, sql: str, by: Sequence[str] = ()) -> pa.Table:
        with working("count partitions"):
            found = self.relations.session.sql(sql).toArrow()
        return found.sort_by([(name, "ascending") for name in by]) if by else found

    def scan(self, sql: str) -> Iterator[pa.Table]:
        start, size = 0, _SLICE
        while start < self.n_tuples:
            inside = f"id >= {start} AND id < {start + size}"
            yield self.query(f"SELECT * FROM ({sql}) AS t WHERE {inside}", by=["id"])
            start, size = start + size, min(2 * size, _MOST)

    def replace(self, name: str, sql: str) -> None:
        # The last one is there when the next is made of it; the one before is done.
        self.relations.put(name, self.relations.session.sql(sql))
        self.relations.drop(name, but=2)

    def upload(self, name: str, table: pa.Table) -> None:
        frame = send(self.relations.session, table)
        self.relations.drop(name)
        self.relations.put(name, frame, is_kept=False)

    def grouped_each(
        self, nodes: Sequence[int], keys: list[str], each: Sequence[str]
    ) -> list[pa.Table]:
        """Add up all at once: a job takes longer to start than to count."""
        sets = ", ".join(f"({', '.join([*keys, one])})" for one in each)
        inside = ", ".join(map(str, nodes))
        found = self.query(
            f"SELECT {', '.join([*keys, *each])}, grouping_id() AS g, sum(n) AS n "
            f"FROM {self.named(PLANTED)} WHERE node IN ({inside}) "
            f"GROUP BY GROUPING SETS ({sets})"
        )
        # The bits of those by which was not grouped are set, the first one highest.
        every = (1 << len(each)) - 1
        asked = found["g"].to_numpy()
        tables = []
        for place, one in enumerate(each):
            own = np.flatnonzero(asked == every & ~(1 << (len(each) - 1 - place)))
            table = found.take(pa.array(own)).select([*keys, one, "n"])
            tables.append(table.sort_by([(x, "ascending") for x in (*keys, one)]))
        return tables

    def hand_out(self, parts: Sequence[PartRoots], stage: str) -> None:
        """Bring the tuples of each part together, on some executor."""
        part_of = {node: i for i, part in enumerate(parts) for node in part.numbers}
        pairs = np.array([*part_of.items()], dtype=np.int32)
        owners = pa.table({"node": pairs[:, 0], PART: pairs[:, 1]})
        self.upload("part_of_node", owners)
        names = [*self.shape.record, "node"]
        cells = ", ".join(f"p.{name}" for name in names)
        tuples = self.relations.session.sql(
            f"SELECT m.{PART}, {cells} FROM {self.named(PLANTED)} AS p "
            f"JOIN {self.named('part_of_node')} AS m ON m.node = p.node"
        )
        # As many partitions: Spark would put small ones together, for one executor.
        spread = tuples.repartition(len(parts), PART).groupBy(PART)
        self._keep(stage, spread.applyInArrow(packing(names), _SCHEMA), len(parts))

    def run(
        self, task: Task[ResultT], stage: str, target: str | None = None
    ) -> list[ResultT]:
        n_parts = self._n_parts[stage]
        self.stages.report(self.stage)
        done = self.frame(stage).mapInArrow(doing(task), _SCHEMA)
        if target is not None:
            self._keep(target, done, n_parts)
            done = self.frame(target)
        return self._summaries(done, n_parts)

    def fetch(self, task: Task[ResultT], stage: str, parts: range) -> list[ResultT]:
        """Do a task with some parts, of which it keeps nothing."""
        own = self.frame(stage).filter(
            f"{PART} >= {parts[0]} AND {PART} <= {parts[-1]}"
        )
        return self._summaries(own.mapInArrow(doing(task), _SCHEMA), len(parts))

    def _summaries(self, done: "DataFrame", n_parts: int) -> list[ResultT]:
        with working("solve partitions"):
            found = done.select(PART, "summary").toArrow().sort_by(PART)
        if found.num_rows != n_parts:
            raise InternalError("parts came back that were not handed out, or too few")
        return [unpack_value(one) for one in found["summary"].to_pylist()]

    def frame(self, stage: str) -> "DataFrame":
        """Return a stage."""
        return self.relations[_relation(stage)]

    def _keep(self, stage: str, frame: "DataFrame", n_parts: int) -> None:
        self.drop(stage)
        self.relations.put(_relation(stage), frame)
        self._n_parts[stage] = n_parts

    def drop(self, stage: str) -> None:
        if self._n_parts.pop(stage, None) is not None:
            self.relations.drop(_relation(stage))

    def clear(self) -> None:
        for stage in [*self._n_parts]:
            self.drop(stage)


def _relation(stage: str) -> str:
    return f"stage {stage}"

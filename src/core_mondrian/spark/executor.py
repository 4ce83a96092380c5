"""SparkExecutor: the executors cut what is too large for the driver.

Records travel as bytes, some thousands to a cell: Spark looks into none of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.executor import Descent, Task, TaskResult, count_part
from core_mondrian.engine.layout import Codes
from core_mondrian.engine.marginals import Counted, Entries, Projector, add_up
from core_mondrian.errors import InternalError
from core_mondrian.spark.troubles import working

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]
_CELL_RECORDS: Final = 1 << 15
_CELLS_PER_TASK: Final = 4
_CELL_BYTES: Final = 1 << 21
_COUNTED: Final = ("projection", "node", "key", "rows")


class SparkExecutor:
    """Counts and solves on the executors; see `core_mondrian.engine.executor`."""

    def __init__(self, session: "SparkSession", task_tuples: int) -> None:
        self.task_tuples = task_tuples
        self._session = session
        self._frame: DataFrame | None = None
        self._width = 0

    def load(self, records: Codes, root: NDArray[np.int32]) -> None:
        """Send the records to the cluster, and keep them there."""
        self.close()
        self._width = records.shape[1]
        starts = range(0, len(records), _CELL_RECORDS)
        cells = {
            "records": [_bytes(records[at : at + _CELL_RECORDS]) for at in starts],
            "root": [_bytes(root[at : at + _CELL_RECORDS]) for at in starts],
        }
        n_tasks = 1 + len(starts) // _CELLS_PER_TASK
        with working("sending tuples"):
            frame = self._session.createDataFrame(pa.table(cells))
            self._frame = frame.repartition(n_tasks).persist()

    def count(
        self, projector: Projector, descent: Descent, wanted: NDArray[np.int64]
    ) -> Counted:
        """Count the records of the wanted nodes, each executor those it has."""
        if self._frame is None:
            raise InternalError("an executor that has no tuples")
        width = self._width

        def count(batches: Batches) -> Batches:
            for batch in batches:
                for cell in pa.table(batch).to_pylist():
                    records = _codes(cell["records"], width)
                    root = np.frombuffer(cell["root"], dtype=np.int32)
                    found = count_part(projector, descent, wanted, records, root)
                    for projection, entries in found.entries.items():
                        n = len(entries.key)
                        same = pa.repeat(pa.scalar(projection, pa.int32()), n)
                        columns = [same, *entries]
                        yield pa.record_batch(columns, names=list(_COUNTED))

        schema = "projection int, node int, key long, rows int"
        counted = self._frame.mapInArrow(count, schema)
        summed = counted.groupBy(*_COUNTED[:3]).sum("rows").toDF(*_COUNTED)
        with working("counting tuples"):
            table = summed.toArrow()
        return _sorted_out(table)

    def solve(
        self, solve: Callable[[Task], TaskResult], units: Sequence[Task]
    ) -> Iterator[TaskResult]:
        """Solve units on the executors, and say what became of them in order."""
        if not units:
            return

        def solve_one(rows: pa.Table) -> pa.Table:
            cells = rows.sort_by("place").to_pylist()
            records = np.concatenate(
                [_codes(cell["records"], cell["width"]) for cell in cells]
            )
            root = np.frombuffer(cells[0]["root"], dtype=layout.NODE)
            return _packed(
                cells[0]["unit"], solve(Task(records, layout.as_fields(root.copy())))
            )

        sent = self._session.createDataFrame(pa.table(_cells(units)))
        schema = "unit int, field string, place int, bytes binary"
        with working("solving partitions"):
            done = sent.groupBy("unit").applyInArrow(solve_one, schema).toArrow()
        for number, unit in enumerate(units):
            own = done.filter(pc.equal(done["unit"], number))
            yield _unpacked(own, unit.records.shape[1])

    def close(self) -> None:
        """Let the cluster forget the records."""
        if self._frame is not None:
            self._frame.unpersist()
            self._frame = None


def _sorted_out(table: pa.Table) -> Counted:
    """Return counts that came in any order."""
    found = {}
    projections = table["projection"].to_numpy()
    for projection in np.unique(projections).tolist():
        inside = table.filter(pa.array(projections == projection))
        kinds = (np.int32, np.int64, np.int32)
        columns = zip(_COUNTED[1:], kinds, strict=True)
        found[projection] = Entries(
            *(inside[name].to_numpy().astype(kind) for name, kind in columns)
        )
    return add_up([Counted(found)])


def _bytes(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _codes(cell: bytes | bytearray, width: int) -> Codes:
    return np.frombuffer(cell, dtype=np.int32).reshape(-1, width)


def _cells(units: Sequence[Task]) -> dict[str, pa.Array]:
    rows = [
        {
            "unit": number,
            "place": place,
            "width": unit.records.shape[1],
            "root": _bytes(np.asarray(unit.root)),
            "records": _bytes(unit.records[at : at + _CELL_RECORDS]),
        }
        for number, unit in enumerate(units)
        for place, at in enumerate(range(0, len(unit.records), _CELL_RECORDS))
    ]
    kinds = {"root": pa.binary(), "records": pa.binary()}
    return {
        name: pa.array([row[name] for row in rows], kinds.get(name, pa.int32()))
        for name in rows[0]
    }


def _packed(unit: int, solved: TaskResult) -> pa.Table:
    """Return what became of a unit in cells that fit into any message."""
    rows = []
    for field in fields(TaskResult):
        found = getattr(solved, field.name)
        if found is not None:
            content = _bytes(np.asarray(found))
            starts = range(0, max(len(content), 1), _CELL_BYTES)
            rows += [
                (unit, field.name, place, content[at : at + _CELL_BYTES])
                for place, at in enumerate(starts)
            ]
    kinds = (pa.int32(), pa.string(), pa.int32(), pa.binary())
    columns = zip(zip(*rows, strict=True), kinds, strict=True)
    arrays = [pa.array(column, kind) for column, kind in columns]
    return pa.table(arrays, names=["unit", "field", "place", "bytes"])


def _unpacked(cells: pa.Table, width: int) -> TaskResult:
    def content(field: str) -> bytearray | None:
        own = cells.filter(pc.equal(cells["field"], field)).sort_by("place")
        return bytearray().join(own["bytes"].to_pylist()) if len(own) else None

    nodes, records, funnel, edges = (
        content(field.name) for field in fields(TaskResult)
    )
    if nodes is None or records is None or funnel is None:
        raise InternalError("a unit that nobody has solved")
    return TaskResult(
        layout.as_fields(np.frombuffer(nodes, dtype=layout.NODE)),
        _codes(records, width),
        np.frombuffer(funnel, dtype=np.int64).reshape(layout.N_STAGES, -1),
        None if edges is None else np.frombuffer(edges, dtype=np.int64).reshape(-1, 2),
    )

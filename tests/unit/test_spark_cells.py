"""What executors send back arrives as it was, in however many cells."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core_mondrian.engine import layout
from core_mondrian.engine.executor import TaskResult
from core_mondrian.errors import InternalError
from core_mondrian.spark import executor


@pytest.mark.parametrize("edges", [None, np.arange(8).reshape(4, 2)])
@pytest.mark.parametrize("n_records", [0, 1, 57])
def test_a_solved_unit_is_put_together_again(
    n_records: int, edges: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_CELL_BYTES", 100)
    nodes = layout.fields(9, layout.NODE)
    nodes["rows"] = np.arange(9)
    records = np.arange(6 * n_records, dtype=np.int32).reshape(-1, 6)
    funnel = np.arange(layout.N_STAGES * 4).reshape(layout.N_STAGES, 4)

    cells = executor._packed(3, TaskResult(nodes, records, funnel, edges))
    # A shuffle keeps no order.
    mixed = np.random.default_rng(1).permutation(cells.num_rows)
    found = executor._unpacked(cells.take(pa.array(mixed)), 6)

    assert max(map(len, cells["bytes"].to_pylist())) <= 100
    assert found.nodes["rows"].tolist() == list(range(9))
    assert np.array_equal(found.records, records)
    assert np.array_equal(found.funnel, funnel)
    assert (found.edges is None) == (edges is None)
    assert edges is None or np.array_equal(found.edges, edges)
    found.nodes["parent"][0] = 1  # as grafting does


def test_a_unit_that_does_not_come_back_is_told() -> None:
    none = executor._packed(1, TaskResult(*[np.zeros((0, 6), np.int32)] * 3)).slice(
        0, 0
    )

    with pytest.raises(InternalError, match="nobody has solved"):
        executor._unpacked(none, 6)

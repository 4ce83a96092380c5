"""Files that are written piece by piece, when that fails."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core_mondrian.tables.files.write import TableFile

TABLE = pa.table({"note": ["a", "b"]})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of the Parquet writer, whose disk is full."""
    asked: list[str] = []
    close: Callable[[pq.ParquetWriter], None] = pq.ParquetWriter.close

    def write(*_: object, **_options: object) -> None:
        asked.append("write")
        raise OSError(28, "No space left on device")

    def closed(writer: pq.ParquetWriter) -> None:
        asked.append("close")
        close(writer)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", write)
    monkeypatch.setattr(pq.ParquetWriter, "close", closed)
    return asked


def begin(folder: Path) -> TableFile:
    file = TableFile(folder / "a.parquet", TABLE.slice(0, 0), TABLE.schema)
    file.write(file.prepare(TABLE))
    return file


def test_full_disk_at_the_end_still_closes_the_file(
    tmp_path: Path, calls: list[str]
) -> None:
    file = begin(tmp_path)

    with pytest.raises(OSError, match="No space"), file:
        pass

    assert calls == ["write", "close"]


def test_after_an_error_nothing_that_waits_is_written(
    tmp_path: Path, calls: list[str]
) -> None:
    file = begin(tmp_path)

    with pytest.raises(KeyError), file:
        raise KeyError

    assert calls == ["close"]

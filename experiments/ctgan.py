"""Tables made up by CTGAN, trained in an environment of its own.

CTGAN is under the Business Source License and needs an older pandas: it is no
dependency, and nothing of it is imported here. A table becomes numbers and codes, a
worker trains and samples, and what it returns gets the table's types back. On one
machine the same table, seed, epochs and number of rows give the same sample.

Measured on one core: all 48,842 rows of Adult, 80 epochs and a sample of a million rows
took 10 CPU minutes, of which an epoch takes 8 seconds.
"""

import hashlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from core_mondrian.errors import DataError, InternalError, SpecError, show_name
from experiments.environments import Environment, find_environment

FOLDER_VARIABLE: Final = "CORE_MONDRIAN_CTGAN"
"""Names the environment's folder; without it, .venv-ctgan where one stands."""
CACHE: Final = Path("out") / "ctgan"
_BESIDE: Final = ("ctgan==0.12.1", "pandas==2.3.3", "numpy==2.4.6")
ENVIRONMENT: Final = Environment(
    # Without GPU code, so much smaller; not every registry has it.
    requirements=(*_BESIDE, "torch==2.13.0+cpu"),
    instead=(*_BESIDE, "torch==2.13.0"),
    oldest=(3, 11),
    below=(3, 14),
)
_WORKER: Final = Path(__file__).with_name("ctgan_worker.py")


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where CTGAN is installed, where its models stay, and who hears about it."""

    folder: Path | None = None
    """None: what the variable says, or .venv-ctgan."""
    cache: Path = CACHE
    tell: Callable[[str], None] = lambda _: None


_HERE: Final = Workplace()


def sample(
    table: pa.Table,
    n_rows: int,
    seed: int,
    epochs: int,
    place: Workplace = _HERE,
) -> pa.Table:
    """Return ``n_rows`` rows made up by CTGAN after ``epochs``, as ``table`` is typed.

    Missing values are learnt as well. Models and samples are kept in ``place.cache`` by
    a digest of table, epochs and seed: the same model is trained once.

    Raises:
        SpecError: a number is out of its range, or the environment cannot be made.
        DataError: a column has a type that cannot be learnt.
    """
    if n_rows < 1 or epochs < 1 or not 0 <= seed < 1 << 32:
        raise SpecError("CTGAN needs n_rows >= 1, epochs >= 1 and 0 <= seed < 2**32")
    if table.num_rows == 0:
        raise SpecError("CTGAN learns from rows, and the table has none")
    encoded = [_encode(i, table) for i in range(table.num_columns)]
    digest = _digest(encoded, epochs, seed)
    cache = place.cache
    model, made = cache / f"{digest}.model", cache / f"{digest}-{n_rows}.npz"
    if not made.exists():
        python = find_environment(
            ENVIRONMENT, environment_folder(place.folder), tell=place.tell
        )
        cache.mkdir(parents=True, exist_ok=True)
        training = cache / f"{digest}.training.npz"
        np.savez(training, **_arrays(encoded))  # type: ignore[arg-type]
        numbers = [str(number) for number in (n_rows, seed, epochs)]
        try:
            _train(python, [str(p) for p in (training, model, made)] + numbers)
        finally:
            training.unlink(missing_ok=True)
    with np.load(made) as found:
        columns = [column.decode(found, n_rows) for column in encoded]
    return pa.table(columns, schema=table.schema)


def environment_folder(folder: Path | None = None) -> Path:
    """Return where CTGAN's environment is, or will be."""
    return folder or Path(os.environ.get(FOLDER_VARIABLE) or ".venv-ctgan")


@dataclass(frozen=True, slots=True)
class _Encoded:
    """One column as CTGAN takes it: numbers, or codes, and which are missing."""

    key: str
    """By its place: a name could be anything, and several columns have one."""
    name: str
    type: pa.DataType
    values: NDArray[Any]
    """Floats, or codes; both without gaps."""
    domain: pa.Array | None
    """Of a category: its values; the code after the last is missing."""
    absent: NDArray[np.bool_] | None
    """Of a number with missing values: where they are."""

    def decode(self, found: NpzFile, n_rows: int) -> pa.Array:
        values = _column(found, self.key, self.values, n_rows)
        if self.domain is not None:
            codes = pa.array(values, mask=values == len(self.domain))
            return self.domain.take(codes).cast(self.type)
        gaps = None
        if self.absent is not None:
            gaps = _column(found, _absent(self.key), self.absent, n_rows)
            gaps = gaps.astype(np.bool_)
        values = np.clip(values, self.values.min(), self.values.max())
        if not pa.types.is_floating(self.type):
            values = np.rint(values).astype(np.int64)
        return _cast(pa.array(values, mask=gaps), self.type)


def _column(
    found: NpzFile, key: str, trained: NDArray[Any], n_rows: int
) -> NDArray[Any]:
    """Return what was sampled; a constant was not trained and stays what it is."""
    if key in found.files:
        return np.asarray(found[key]).astype(trained.dtype)
    return np.full(n_rows, trained[0])


def _encode(place: int, table: pa.Table) -> _Encoded:
    column, field = table.column(place), table.field(place)
    type_ = field.type
    if pa.types.is_floating(type_) or pa.types.is_integer(type_):
        return _encode_numbers(place, field, column.cast(pa.float64(), safe=False))
    if pa.types.is_temporal(type_):
        days = pa.types.is_date32(type_) or pa.types.is_time32(type_)
        plain = column.cast(pa.int32() if days else pa.int64())
        return _encode_numbers(place, field, plain.cast(pa.float64(), safe=False))
    plain = column.cast(type_.value_type) if pa.types.is_dictionary(type_) else column
    inner = plain.type
    if not (pa.types.is_boolean(inner) or _is_text(inner)):
        name = show_name(field.name, place + 1)
        raise DataError(
            f"CTGAN cannot learn the type {inner} of {name}",
            hint="leave the column out, or convert it to text or numbers",
        )
    # Sorted, so that codes do not depend on the order of rows.
    domain = pc.unique(plain.combine_chunks()).drop_null()
    domain = domain.take(pc.sort_indices(domain))
    codes = pc.index_in(plain, value_set=domain).fill_null(len(domain))
    values = codes.to_numpy().astype(np.int64)
    return _Encoded(_key(place), field.name, type_, values, domain, None)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _encode_numbers(place: int, field: pa.Field, floats: pa.ChunkedArray) -> _Encoded:
    values = floats.to_numpy()
    absent = ~np.isfinite(values)
    known = values[~absent]
    middle = float(np.sort(known)[known.size // 2]) if known.size else 0.0
    filled = np.where(absent, middle, values)
    gaps = absent if absent.any() else None
    return _Encoded(_key(place), field.name, field.type, filled, None, gaps)


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    narrow = pa.types.is_date32(type_) or pa.types.is_time32(type_)
    return (column.cast(pa.int32()) if narrow else column).cast(type_)


def _key(place: int) -> str:
    return f"column_{place}"


def _absent(key: str) -> str:
    return f"{key}_absent"


def _arrays(encoded: list[_Encoded]) -> dict[str, NDArray[Any]]:
    """Return what the worker trains on: floats are numbers, all else is a category."""
    arrays: dict[str, NDArray[Any]] = {}
    for column in encoded:
        arrays[column.key] = column.values
        if column.absent is not None:
            arrays[_absent(column.key)] = column.absent.astype(np.int64)
    return {key: a for key, a in arrays.items() if a.min() != a.max()}


def _digest(encoded: list[_Encoded], epochs: int, seed: int) -> str:
    """Fingerprint what decides the model: the table, and how it is trained."""
    digest = hashlib.sha256(f"{ENVIRONMENT.title} {epochs} {seed}".encode())
    for column in encoded:
        digest.update(f"\0{column.name}\0{column.type}\0".encode())
        digest.update(column.values.tobytes())
        if column.domain is not None:
            digest.update(str(column.domain.to_pylist()).encode())
        if column.absent is not None:
            digest.update(column.absent.tobytes())
    return digest.hexdigest()[:16]


def _train(python: Path, arguments: list[str]) -> None:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    ours = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(  # noqa: S603
        # -P: next to the worker is a module that is named as the package is.
        [str(python), "-P", str(_WORKER), *arguments],
        env=ours | threads | {"PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        # The last line may hold a cell; the kind of error does not.
        kind = (done.stderr.strip().splitlines() or ["?"])[-1].split(":")[0]
        raise InternalError(f"CTGAN's worker ended with {done.returncode} ({kind})")

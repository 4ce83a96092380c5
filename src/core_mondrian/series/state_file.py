"""The state of a series as one private file, and back."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import DataError, SpecError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.release.manifests import rebuild_spec
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.series.private_file import read_private, write_private
from core_mondrian.series.recoding_parts import (
    hierarchy_table,
    read_hierarchy,
    read_recoding,
    recoding_parts,
)
from core_mondrian.series.row_hashes import RowHashes
from core_mondrian.series.state import (
    Chain,
    Cohorts,
    Records,
    Rules,
    Shown,
    State,
    series_spec,
)
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

KIND: Final = "series"
VERSION: Final = 5
_RECODING: Final = "recoding: "
_HIERARCHY: Final = "hierarchy: "
_ENDS: Final = ("low", "high", "has_missing")


def write_state(path: Path, state: State, *, overwrite: bool) -> None:
    """Write a state whole or not at all, to a file of mode 0600.

    Raises:
        SpecError: the file exists and is not to be overwritten.
        OutputError: the system refuses.
    """
    write_private(path, KIND, VERSION, state_parts(state), overwrite=overwrite)


def read_state(path: Path, spec: Spec | None) -> State:
    """Read a state; ``spec`` is needed where the file cannot tell all of it.

    Raises:
        DataError: it is no state, of another version, or damaged.
        SpecError: the series has another spec, or needs it.
    """
    return read_parts(read_private(path, KIND, VERSION), str(path), spec)


def read_parts(parts: JsonMapping, place: str, spec: Spec | None) -> State:
    """Return the state of `state_parts`; ``place`` says where they were.

    Raises:
        DataError: something is missing.
        SpecError: the series has another spec, or needs it.
    """
    try:
        return _read(parts, spec)
    except (KeyError, IndexError, TypeError, AttributeError, pa.ArrowException):
        raise DataError(
            f"{place}: lacks parts of a series", hint="take a copy from a backup"
        ) from None


def state_parts(state: State) -> JsonObject:
    """Return a state as tables and plain values."""
    plain = {
        "name": state.name,
        "secret": state.key.secret.hex(),
        "spec": state.spec.to_json(),
        "rules": asdict(state.rules),
        "chain": state.chain._asdict(),
        "columns": None if state.shown is None else list(state.shown.columns),
    }
    parts: JsonObject = {"series": plain}
    for name, tree in state.spec.hierarchies.items():
        if isinstance(tree, Hierarchy):
            parts[_HIERARCHY + name] = hierarchy_table(tree)
    if state.shown is None:
        return parts
    shown = state.shown
    recoding = recoding_parts(shown.recoding).items()
    return {
        **parts,
        **{_RECODING + name: part for name, part in recoding},
        "records": _record_table(shown.records),
        "released": shown.released,
        "cohorts": _cohort_table(shown.cohorts),
        "withdrawn": pa.table({"key": shown.withdrawn}),
        "withheld": pa.table({"key": shown.withheld}),
        "key values": pa.table({"key": shown.key_values}),
    }


def _read(parts: JsonMapping, spec: Spec | None) -> State:
    plain = parts["series"]
    own = plain["rules"]
    rules = Rules(**{**own, "row_key": tuple(own["row_key"])})
    state = State(
        name=plain["name"],
        spec=_same_spec(parts, spec, rules),
        rules=rules,
        key=Key(bytes.fromhex(plain["secret"]), is_given=False),
        chain=Chain(**plain["chain"]),
    )
    if plain["columns"] is None:
        return state
    recoding = {
        name.removeprefix(_RECODING): part
        for name, part in parts.items()
        if name.startswith(_RECODING)
    }
    shown = Shown(
        # As it was fitted: a model of one's own, too.
        recoding=read_recoding(recoding, None if spec is None else state.forming_spec),
        records=_read_records(parts["records"]),
        released=parts["released"],
        cohorts=_read_cohorts(parts["cohorts"]),
        withdrawn=_array(parts["withdrawn"], "key", np.uint64),
        withheld=_array(parts["withheld"], "key", np.uint64),
        key_values=_array(parts["key values"], "key", np.uint64),
        columns=tuple((name, kind) for name, kind in plain["columns"]),
    )
    return State(state.name, state.spec, rules, state.key, state.chain, shown)


def _same_spec(parts: JsonMapping, spec: Spec | None, rules: Rules) -> Spec:
    """Return the spec of the series; the one given, if it is the same."""
    plain = parts["series"]["spec"]
    if spec is None:
        trees = {
            name.removeprefix(_HIERARCHY): read_hierarchy(part)
            for name, part in parts.items()
            if name.startswith(_HIERARCHY)
        }
        return rebuild_spec(plain, trees)
    wanted = series_spec(spec, rules)
    own = wanted.to_json()
    keys = sorted(key for key in {*own, *plain} if own.get(key) != plain.get(key))
    if keys:
        raise SpecError(
            f"the series has another spec, which differs in {', '.join(keys)}",
            hint="give the spec that it was created with, or begin another series",
        )
    return wanted


def _record_table(records: Records) -> pa.Table:
    values = {
        f"value {i}": np.ascontiguousarray(records.values[:, i])
        for i in range(records.values.shape[1])
    }
    return pa.table({**records.hashes._asdict(), "cohort": records.cohort, **values})


def _read_records(table: pa.Table) -> Records:
    hashes = (_array(table, name, np.uint64) for name in RowHashes._fields)
    names = [name for name in table.column_names if name.startswith("value ")]
    values = np.zeros((len(table), len(names)), dtype=np.int32)
    for i in range(len(names)):
        values[:, i] = _array(table, f"value {i}", np.int32)
    return Records(RowHashes(*hashes), values, _array(table, "cohort", np.int64))


def _cohort_table(cohorts: Cohorts) -> pa.Table:
    columns: JsonObject = {"release": cohorts.release, "number": cohorts.number}
    for i, cells in enumerate(cohorts.cells):
        columns[f"cell {i}"] = cells
        for name in _ENDS:
            columns[f"{name} {i}"] = np.ascontiguousarray(getattr(cohorts, name)[:, i])
    return pa.table(columns)


def _read_cohorts(table: pa.Table) -> Cohorts:
    places = range(sum(name.startswith("cell ") for name in table.column_names))
    low, high, has_missing = (
        np.stack([_array(table, f"{name} {i}", np.int32) for i in places], axis=1)
        for name in _ENDS
    )
    return Cohorts(
        _array(table, "release", np.int64),
        _array(table, "number", np.int64),
        tuple(_cells(table, i) for i in places),
        low,
        high,
        has_missing.astype(np.bool_),
    )


def _cells(table: pa.Table, i: int) -> pa.Array:
    column = table.column(f"cell {i}")
    return (
        pa.concat_arrays(column.chunks) if column.chunks else pa.array([], column.type)
    )


def _array(table: pa.Table, name: str, kind: type[Any]) -> NDArray[Any]:
    return np.asarray(table.column(name)).astype(kind)

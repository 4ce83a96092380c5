"""Read a manifest back: what was asked, reached and produced, as far as it tells."""

import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from core_mondrian.engine.funnel_counts import STAGES
from core_mondrian.errors import CHECK_PATH, DataError, SpecError
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.load import load_hierarchies
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models.base import PrivacyModel
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.spec.declaration import Spec, spec_from_mapping
from core_mondrian.spec.keys import BY_COLUMN, KEYS, TABLES, SpecKeys

T = TypeVar("T")
Counts = Mapping[str, Mapping[str, int]]
"""Counts by column or kind, then by stage."""

_FORMATS: Final = (1, 2)
"""Format 1, of version 0.1.0, also held what depends on hidden cells."""
_SINCE: Final = {
    name: item.default
    for name, item in SpecKeys.__dataclass_fields__.items()
    if "key" in item.metadata and item.metadata["key"].is_new
}
"""What older versions did, whose manifests lack a key."""
_HINT: Final = "it may have been changed: take the one written beside the release"


@dataclass(frozen=True, slots=True)
class Unasked(PrivacyModel):
    """Every class passes: stands in where no model can be built from a manifest."""

    @property
    def limits_anything(self) -> bool:
        """Accepted, though nothing fails it: nobody is told that it was passed."""
        return True


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a manifest tells; of `p-sensitize`, which keeps less, the rest is None."""

    spec: Spec
    """What the table can be recounted by: roles, formats and the models below."""
    unknown: tuple[str, ...]
    """Models that it names but does not describe in full: they need the spec."""
    untold: tuple[str, ...]
    """Columns whose hierarchies it holds a digest of, no more."""
    reached: tuple[tuple[str, float | None], ...]
    """What each model reached when the release was made; None: nothing was asked."""
    n_classes: int
    policy: str | None = None
    n_rows: int | None = None
    """Rows of the released table, blank ones included."""
    budget: int | None = None
    """Blank rows that may be suppressed ones; None: there are none."""
    digest: str | None = None
    notice: str | None = None
    """What has to go wherever the table goes."""

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The models that it describes in full."""
        return tuple(one for one in self.spec.models if not isinstance(one, Unasked))

    def faults(self) -> list[str]:
        """Return where the manifest contradicts itself."""
        names = {name for name, _ in self.reached}
        if names != {*(model.title for model in self.models), *self.unknown}:
            return ["the models asked for are not the models reached"]
        return []


def read_manifest(path: Path) -> Manifest:
    """Read a manifest of `anonymize` or `p-sensitize`.

    Raises:
        DataError: it cannot be read, or is no manifest.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", hint=CHECK_PATH) from None
    return parse_bytes(raw, path)[0]


def parse_bytes(raw: bytes, path: Path) -> tuple[Manifest, JsonMapping]:
    """Return the manifest that ``path`` holds as ``raw``, and its plain values.

    Raises:
        DataError: it is no manifest.
    """
    try:
        plain = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{path}: not JSON", hint="was it cut off?") from None
    try:
        return parse_manifest(plain), plain
    except DataError as error:
        raise DataError(f"{path}: {error.message}", hint=error.hint or _HINT) from None


def manifest_text(manifest: Mapping[str, object]) -> str:
    """Return a manifest as the file beside a release has it."""
    return json.dumps(finite(manifest), ensure_ascii=False, indent=2) + "\n"


def parse_manifest(plain: object) -> Manifest:
    """Return a manifest from its plain values; nothing that it names is loaded.

    Raises:
        DataError: something is missing, or of the wrong kind.
    """
    record = _object(plain, "it")
    if get(record, "format", int) not in _FORMATS:
        raise DataError(
            f"a manifest of format {_FORMATS[-1]} was expected, found another",
            hint="a newer version may have written it",
        )
    try:
        return _of_changes(record) if "asked" in record else _of_release(record)
    except SpecError:  # whose message is about a spec that nobody wrote
        raise DataError("what it says was asked contradicts itself") from None


def _of_release(record: JsonMapping) -> Manifest:
    asked = get(record, "spec", dict)
    models, unknown = _models(asked)
    trees, untold = _hierarchies(get(asked, "hierarchies", dict))
    rows = get(record, "rows", dict)
    return Manifest(
        spec=_spec(asked, models, trees),
        unknown=unknown,
        untold=untold,
        reached=tuple(_reached(item) for item in get(record, "models", list)),
        n_classes=count_of(record, "classes"),
        policy=get(get(asked, "policy", dict), "name", str),
        n_rows=_table_rows(rows, get(asked, "suppressed", str)),
        budget=count_of(rows, "budget") if "budget" in rows else None,
        digest=get(get(record, "digests", dict), "release", str),
    )


def _table_rows(rows: JsonMapping, suppressed: str) -> int:
    """Return the rows of the released table; format 1 counted blank ones apart."""
    blank = "suppressed" in rows and suppressed == "blank"
    return count_of(rows, "released") + (count_of(rows, "suppressed") if blank else 0)


def _of_changes(record: JsonMapping) -> Manifest:
    """Return what `p-sensitize` keeps: it knows classes, but not how they came."""
    asked = get(record, "asked", dict)
    model = _build(
        {"model": "PSensitiveKAnonymity"}
        | {key: asked.get(key) for key in ("p", "k", "sensitive", "missing")}
    )
    if model is None:
        raise DataError("p, k or sensitive of what was asked are of the wrong kind")
    return Manifest(
        spec=Spec(_names(asked, "quasi_identifiers"), (model,)),
        unknown=(),
        untold=(),
        reached=((model.title, float(count_of(get(record, "reached", dict), "p"))),),
        n_classes=count_of(get(record, "classes", dict), "in"),
        notice=get(record, "summary", str),
    )


def _spec(
    asked: JsonMapping,
    models: tuple[PrivacyModel, ...],
    trees: Mapping[str, Hierarchy | Builder],
) -> Spec:
    numbers = get(asked, "numbers_by_column", dict)
    categories = get(asked, "categories_by_column", dict)
    unit = asked.get("unit")
    texts = (*numbers.values(), *categories.values(), "" if unit is None else unit)
    if any(not isinstance(how, str) for how in texts):
        raise DataError("formats and units are texts")
    return Spec(
        _names(asked, "quasi_identifiers"),
        models or (Unasked(),),
        identifiers=_names(asked, "identifiers"),
        unit=unit,
        pseudonyms=_names(asked, "pseudonyms"),
        suppressed=get(asked, "suppressed", str),  # type: ignore[arg-type]  # checked
        numbers=get(asked, "numbers", str),  # type: ignore[arg-type]  # there
        numbers_by_column=numbers,
        categories=get(asked, "categories", str),  # type: ignore[arg-type]  # there
        categories_by_column=categories,
        hierarchies=trees,
        null_values=_names(asked, "null_values"),
        class_id=_class_id(asked),
        guard_formulas=asked.get("guard_formulas") is True,
    )


def _class_id(asked: JsonMapping) -> str | None:
    name = asked.get("class_id")
    if name is not None and not isinstance(name, str):
        raise DataError("'class_id' is the name of a column")
    return name


def whole_spec(
    record: JsonMapping, manifest: Manifest, rows: tuple[int, int] | None = None
) -> Spec:
    """Return the spec of a manifest that tells all of it, to make the release again.

    ``rows`` are those that came in, and how many might be suppressed.

    Raises:
        SpecError: it does not; the message names the keys.
    """
    asked = {**_SINCE, **record.get("spec", {})}
    try:
        spec = _rebuild(asked, manifest.spec.models, manifest.spec.hierarchies)
        lacking = sorted(
            {key for key, value in spec.to_json().items() if asked.get(key) != value}
            | (asked.keys() - spec.to_json().keys())
        )
    except (TypeError, ValueError, KeyError, AttributeError):  # a SpecError is one
        lacking = ["what was asked"]
    if not lacking and rows is not None and spec.budget(rows[0]) != rows[1]:
        lacking = ["suppress"]
    if lacking:
        raise SpecError(
            f"the manifest does not state in full: {', '.join(lacking)}",
            hint="give the spec that the release was made with: --spec FILE",
        )
    return spec


def rebuild_spec(asked: JsonMapping, trees: Mapping[str, Hierarchy]) -> Spec:
    """Return the spec that `Spec.to_json` told of, given those of its hierarchies.

    Raises:
        SpecError: it was not told in full; the message says what.
    """
    built, untold = _hierarchies(get(asked, "hierarchies", dict))
    models, unknown = _models(asked)
    lacking = [*unknown, *(name for name in untold if name not in trees)]
    if not lacking:
        try:
            given = {name: trees[name] for name in untold}
            spec = _rebuild(asked, models, {**built, **given})
        except (TypeError, ValueError, KeyError, AttributeError):  # a SpecError is one
            lacking = ["what was asked"]
        else:
            lacking = [] if spec.to_json() == asked else ["what was asked"]
    if lacking:
        raise SpecError(
            f"the file does not state in full: {', '.join(lacking)}",
            hint="give the spec as well",
        )
    return spec


def _rebuild(
    asked: JsonMapping,
    models: tuple[PrivacyModel, ...],
    trees: Mapping[str, Hierarchy | Builder],
) -> Spec:
    """Return the spec from the keys a spec file has for it."""
    policy = dict(asked["policy"])
    name = policy.pop("name")
    if "breakout_thresholds" in policy:
        policy["breakout_thresholds"] = dict(policy["breakout_thresholds"])
    apart = {"k", "models", "hierarchies", "small_patterns", *BY_COLUMN, *TABLES}
    given = {
        key: asked[key]
        for key in KEYS
        if key not in {*apart, "policy"} and asked.get(key) is not None
    }
    if asked["missing"] == "pattern":
        given["small_patterns"] = asked["small_patterns"]
    for key in BY_COLUMN:
        given[key] = {"default": asked[key], **asked[f"{key}_by_column"]}
    bounds = asked["thresholds"].items()
    given["thresholds"] = {key: "off" if x is None else x for key, x in bounds}
    spec = spec_from_mapping({**given, "k": 2, "policy": name, name: policy})
    return dataclasses.replace(spec, models=models, hierarchies=trees)


def _hierarchies(
    asked: JsonMapping,
) -> tuple[dict[str, Hierarchy | Builder], tuple[str, ...]]:
    """Return the hierarchies that can be built again, and the columns of the others."""
    given = {
        name: item
        for name, item in asked.items()
        if isinstance(item, dict) and not {"file", "digest"} & item.keys()
    }
    trees, _ = load_hierarchies(given, Path())
    return trees, tuple(name for name in asked if name not in given)


def _models(
    asked: JsonMapping,
) -> tuple[tuple[PrivacyModel, ...], tuple[str, ...]]:
    """Return the models described in full, and the names of the others."""
    models, unknown = [], []
    for item in get(asked, "models", list):
        plain = _object(item, "models")
        model = _build(plain)
        if model is None:
            unknown.append(get(plain, "name", str))
        else:
            models.append(model)
    return tuple(models), tuple(unknown)


def _build(plain: JsonMapping) -> PrivacyModel | None:
    """Return one of our models; None: it needs what a manifest does not hold.

    That is a hierarchy, a population or values, or it is a model of the user's.
    """
    from core_mondrian.models.registry import MODELS

    by_class = {kind.__name__: kind for kind in MODELS.values()}
    kind = by_class.get(get(plain, "model", str))
    if kind is None or any(key.startswith("n_") and plain[key] for key in plain):
        return None
    names = {item.name for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if "population" in names or plain.get("hierarchy") is not None:
        return None
    given = {key: value for key, value in plain.items() if key in names}
    try:
        model = kind(**given)
        _ = model.limits().edges, model.min_rows + 0, model.title
    except (TypeError, ValueError, ArithmeticError):  # a SpecError is one
        return None
    return model


def _reached(item: object) -> tuple[str, float | None]:
    plain = _object(item, "models")
    value = plain.get("reached")
    if value is not None and (isinstance(value, bool) or not _is_number(value)):
        raise DataError("what a model reached is a number")
    return get(plain, "name", str), None if value is None else float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def funnel_of(plain: JsonMapping) -> dict[str, Counts]:
    """Return the counts of a cut funnel, by column and by kind."""
    return {
        part: {
            name: {
                stage: count_of(_object(counts, "funnel"), stage) for stage in STAGES
            }
            for name, counts in get(plain, part, dict).items()
        }
        for part in ("columns", "kinds")
    }


def _names(record: JsonMapping, key: str) -> tuple[str, ...]:
    names = get(record, key, list)
    if any(not isinstance(name, str) for name in names):
        raise DataError(f"{key!r} is a list of texts")
    return tuple(names)


def count_of(record: JsonMapping, key: str) -> int:
    """Return a number of things; see `get`."""
    value = get(record, key, int)
    if not 0 <= value < 2**63:
        raise DataError(f"{key!r} is a number of things, not below 0")
    return value


def _object(value: object, what: str) -> JsonObject:
    if not isinstance(value, dict):
        raise DataError(f"{what} is no JSON object with a manifest's keys")
    return value


def get(record: JsonMapping, key: str, kind: type[T]) -> T:
    """Return a value of a record.

    Raises:
        DataError: it is missing, or of the wrong kind.
    """
    value = record.get(key)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DataError(f"{key!r} is missing, or of the wrong kind")
    return value


def finite(value: Any) -> Any:  # noqa: ANN401  # anything JSON knows
    """Replace what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

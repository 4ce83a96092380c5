"""Spec files: a spec from TOML, with the line of what is wrong."""

import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from core_mondrian.errors import CHECK_PATH, SpecError, drops_context
from core_mondrian.hierarchies.load import load_hierarchies
from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.spec.declaration import (
    FORMATS,
    Spec,
    Thresholds,
    about,
    check_choice,
    no_patterns,
)
from core_mondrian.spec.policies import (
    POLICIES,
    BestPolicy,
    FunnelPolicy,
    OriginalPolicy,
    Policy,
)
from core_mondrian.spec.suppression import Suppression, exact, parse_suppression
from core_mondrian.tables.toml_positions import find_line, read_toml

KEYS: dict[str, type | tuple[type, ...]] = {
    "quasi_identifiers": list,
    "identifiers": list,
    "unit": str,
    "pseudonyms": list,
    "pseudonym_domains": dict,
    "weight": str,
    "accept": list,
    "k": int,
    "models": list,
    "policy": str,
    "missing": str,
    "small_patterns": str,
    "suppress": (str, int),
    "suppress_multiplier": (int, float),
    "suppressed": str,
    "numbers": (str, dict),
    "categories": (str, dict),
    "nice": (bool, dict),
    "class_id": str,
    "shuffle": int,
    "guard_formulas": bool,
    "weights": dict,
    "inline_below": int,
    "exclude": list,
    "null_values": list,
    "hierarchies": dict,
    "uncovered": str,
    "thresholds": dict,
    "best": dict,
    "paper": dict,
    "original": dict,
}


def spec_from_mapping(asked: Mapping[str, Any], folder: Path = Path()) -> Spec:
    """Build a spec from TOML's plain values; files are relative to ``folder``.

    Raises:
        SpecError: an unknown key, a value of the wrong kind, or a contradiction.
    """
    _check_keys(asked, KEYS, "")
    for key, value in asked.items():
        kinds = KEYS[key]
        is_flag = isinstance(value, bool) and key not in ("nice", "guard_formulas")
        if not isinstance(value, kinds) or is_flag:
            raise SpecError(f"{key} has the wrong kind: {type(value).__name__}")
    simple = (
        *("unit", "weight", "missing", "small_patterns", "suppressed", "weights"),
        "inline_below",
        *("class_id", "shuffle", "guard_formulas", "uncovered", "pseudonym_domains"),
    )
    lists = (
        *("quasi_identifiers", "identifiers", "pseudonyms", "accept"),
        *("exclude", "null_values"),
    )
    given = {key: asked[key] for key in simple if key in asked}
    given |= {key: _texts(asked[key], key) for key in lists if key in asked}
    trees, uncovered = load_hierarchies(asked.get("hierarchies", {}), folder)
    spec = Spec(
        **{"quasi_identifiers": (), **given, **_formats(asked)},
        models=_models(asked, folder),
        policy=_policy(asked, folder),
        suppress=_suppress(asked, folder),
        hierarchies=trees,
        uncovered_by_column=uncovered,
        thresholds=_thresholds(asked.get("thresholds", {})),
    )
    if "small_patterns" in asked and spec.missing_rule != "pattern":
        raise no_patterns()
    return spec


def _models(asked: Mapping[str, Any], folder: Path) -> tuple[PrivacyModel, ...]:
    """Return the models in ``[[models]]``, after the short form of the usual one."""
    if "k" not in asked and not asked.get("models"):
        raise SpecError("k is missing", hint="k = 5 lets nobody stand in fewer than 5")
    models: list[PrivacyModel] = [KAnonymity(asked["k"])] if "k" in asked else []
    if not asked.get("models"):
        return tuple(models)
    from core_mondrian.models.load import model_from_mapping

    for place, item in enumerate(asked["models"]):
        with about("models", place):
            if not isinstance(item, dict):
                raise SpecError("models are tables: [[models]], then name = ...")
            models.append(model_from_mapping(item, folder))
    return tuple(models)


def _check_keys(asked: Mapping[str, Any], known: Mapping[str, Any], where: str) -> None:
    for key in asked:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {sorted(known)}"
            way = (*where.split(".")[:-1], key)
            raise SpecError(
                f"unknown key {where + key!r} in the spec", hint=hint, key=way
            )


def _texts(values: list[Any], key: str) -> tuple[str, ...]:
    if any(not isinstance(value, str) for value in values):
        raise SpecError(
            f"{key} is a list of texts", hint=f"such as {key} = ['age', 'sex']"
        )
    return tuple(values)


def _formats(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that are one word, or a table by column with a default."""
    found: dict[str, Any] = {}
    for key in (*FORMATS, "nice"):
        given = asked.get(key, {})
        by_column = dict(given) if isinstance(given, dict) else {"default": given}
        if "default" in by_column:
            found[key] = by_column.pop("default")
        found[f"{key}_by_column"] = by_column
    return found


def _own_policy(text: str, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return the class that ``file.py:Class key=value`` names, and its fields."""
    from core_mondrian.models.load import parse_model
    from core_mondrian.models.own_files import load_class

    with about("policy"):
        given = parse_model(text)
        kind = load_class(given.pop("name"), folder, FunnelPolicy, "policy")
    return kind, given


def _policy(asked: Mapping[str, Any], folder: Path) -> Policy:
    """Return the policy: one of ours, or ``file.py:Class`` with its own key=value."""
    name = own = asked.get("policy", "best")
    given: dict[str, Any] = {}
    if ":" in name:
        kind, given = _own_policy(name, folder)
        own = kind.__name__
        name = "original" if issubclass(kind, OriginalPolicy) else "paper"
    else:
        check_choice("policy", name, tuple(POLICIES))
        kind = POLICIES[name]
    for other in POLICIES:
        if other in asked and other != name:
            raise SpecError(
                f"[{other}] is given, but the policy is {own!r}",
                hint=f"drop it, or take policy {other!r}",
                key=(other,),
            )
    options = {**asked.get(name, {}), **given}
    fields = {item.name: item for item in dataclasses.fields(kind)}
    _check_keys(options, fields, f"{name}.")
    if isinstance(options.get("breakout_thresholds"), dict):
        options["breakout_thresholds"] = tuple(options["breakout_thresholds"].items())
    if options.get("rilm_epsilon") == "always":  # TOML has no null
        options["rilm_epsilon"] = None
    frozen = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in options.items()
    }
    try:
        policy: Policy = kind(**frozen)
    except TypeError:
        raise SpecError(
            f"[{name}] has a value of the wrong kind", key=(name,)
        ) from None
    return policy


def _suppress(asked: Mapping[str, Any], folder: Path) -> Suppression | None:
    multiplier = asked.get("suppress_multiplier", 1)
    if "suppress" in asked:
        return parse_suppression(asked["suppress"], multiplier)
    if multiplier == 1:
        return None
    kept = _thresholds(asked.get("thresholds", {})).pct_non_suppressed
    if kept is None or isinstance(_policy(asked, folder), BestPolicy):
        kept = 1  # as Spec.budget has it: a margin on nothing is nothing
    share = 1 - exact(kept, "pct_non_suppressed")
    return Suppression(share=share, multiplier=exact(multiplier, "suppress_multiplier"))


def _thresholds(asked: dict[str, Any]) -> Thresholds:
    _check_keys(
        asked, {f.name: f for f in dataclasses.fields(Thresholds)}, "thresholds."
    )
    given: dict[str, float | None] = {}
    for key, value in asked.items():
        if value != "off" and (
            isinstance(value, bool) or not isinstance(value, int | float)
        ):
            raise SpecError(f"thresholds.{key} is a number between 0 and 1, or 'off'")
        given[key] = None if value == "off" else value
    return Thresholds(**given)


@drops_context
def load_spec(path: Path) -> Spec:
    """Read a spec from a TOML file.

    Raises:
        SpecError: it cannot be read, is not TOML, or asks for what does not exist; the
            message names the file and, where one key is to blame, its line.
    """
    file = read_spec_file(path)
    with file.located():
        return spec_from_mapping(file.asked, path.parent)


class SpecFile(NamedTuple):
    """A spec file's plain values, and where they stand in it."""

    path: Path
    text: str
    asked: dict[str, Any]

    @contextmanager
    def located(self, flags: Mapping[str, Any] | None = None) -> Iterator[None]:
        """Let errors about a key of the file name the file, the line and the key.

        What ``flags`` say instead of the file is not the file's fault.
        """
        try:
            yield
        except SpecError as error:
            key = error.key or _first_word(error.message)
            if _is_given(key, flags or {}):
                raise
            where = f"spec {self.path}"
            if line := find_line(self.text, key):
                where += f", line {line}"
                if str(key[-1]) not in re.findall(r"[\w-]+", error.message):
                    where += f", key {'.'.join(str(part) for part in key)!r}"
            told = f"{where}: {error.message}"
            raise SpecError(told, hint=error.hint, key=key) from None


def read_spec_file(path: Path) -> SpecFile:
    """Read a spec file's plain values.

    Raises:
        SpecError: it cannot be read, or is not TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return SpecFile(path, text, read_toml(text))
    except OSError as error:
        raise SpecError(f"spec {path}: {error.strerror}", hint=CHECK_PATH) from None
    except UnicodeDecodeError:
        raise SpecError(
            f"spec {path}: not UTF-8 text", hint="save it as UTF-8"
        ) from None
    except ValueError as error:
        raise SpecError(f"spec {path}: {error}") from None


def _is_given(key: tuple[str | int, ...], flags: Mapping[str, Any]) -> bool:
    """Tell whether the flags, and not the file, say what a key is."""
    given: Any = flags
    for part in key:
        given = given.get(part) if isinstance(given, Mapping) else None
        if given is not None and not isinstance(given, Mapping):
            return True
    return False


def _first_word(message: str) -> tuple[str, ...]:
    """Return the key that a message begins with, as those about one key do."""
    found = re.match(r"[a-z_]+(\.[a-z_]+)*", message)
    return tuple(found[0].split(".")) if found else ()

"""How each key of a spec is read: the same words in Python, TOML and on flags."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from core_mondrian.errors import SpecError, about
from core_mondrian.hierarchies.load import load_hierarchies
from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.spec.keys import BY_COLUMN, KEYS
from core_mondrian.spec.metadata import read_whole, wrong_kind
from core_mondrian.spec.policies import (
    POLICIES,
    BestPolicy,
    FunnelPolicy,
    OriginalPolicy,
    Policy,
)
from core_mondrian.spec.suppression import Suppression, exact, parse_suppression
from core_mondrian.spec.thresholds import Thresholds


def read_keys(given: JsonMapping, folder: Path = Path()) -> JsonObject:
    """Return the fields of a `Spec` that plain values stand for.

    What is a field's value already stays as it is. Files are relative to ``folder``.

    Raises:
        SpecError: an unknown key, or a value of the wrong kind.
    """
    check_keys(given)
    read = {
        key: one.kind.read(given[key], key)
        for key, one in KEYS.items()
        if key in given and one.kind.read is not None and key not in BY_COLUMN
    }
    for key in BY_COLUMN:
        read |= _read_by_column(given, key)
    hierarchies = given.get("hierarchies", {})
    if not isinstance(hierarchies, Mapping):
        raise wrong_kind(hierarchies, "hierarchies", "a table by column")
    trees, uncovered = load_hierarchies(hierarchies, folder)
    models = _read_models(given, folder)
    thresholds = _read_thresholds(given.get("thresholds", Thresholds()))
    policy = _read_policy(given, folder)
    return {
        "quasi_identifiers": (),
        **read,
        "models": models,
        "policy": policy,
        "suppress": _read_suppression(given, thresholds, policy),
        "hierarchies": trees,
        "uncovered_by_column": {**read.get("uncovered_by_column", {}), **uncovered},
        "thresholds": thresholds,
    }


def check_keys(given: Mapping[str, object]) -> None:
    """Raise SpecError unless a spec has all these keys."""
    if "sensitive" in given:
        raise SpecError(
            "sensitive columns are named by the models that protect them",
            hint='models="distinct-l-diversity l=2 sensitive=disease" beside k=5',
            key=("sensitive",),
        )
    _check_names(given, (*KEYS, *(f"{key}_by_column" for key in BY_COLUMN)), "")


def _read_by_column(given: JsonMapping, key: str) -> JsonObject:
    by_column = dict(given.get(f"{key}_by_column", {}))
    if key not in given:
        return {f"{key}_by_column": by_column} if by_column else {}
    value = given[key]
    if not isinstance(value, Mapping):
        if not isinstance(value, KEYS[key].kind.option):
            raise wrong_kind(value, key, "one word, or a table by column")
        return {key: value, f"{key}_by_column": by_column}
    table = dict(value)
    default = {key: table.pop("default")} if "default" in table else {}
    return {**default, f"{key}_by_column": {**table, **by_column}}


def _read_models(given: JsonMapping, folder: Path) -> tuple[PrivacyModel, ...]:
    """Return the models, after the short form of the usual one."""
    models: list[PrivacyModel] = []
    if (k := read_whole(given.get("k"), "k")) is not None:
        models.append(KAnonymity(k))
    asked = given.get("models")
    if asked is None:
        asked = ()
    is_one = isinstance(asked, PrivacyModel | str | Mapping)
    if not is_one and not isinstance(asked, Iterable):
        raise SpecError(
            f"{type(asked).__name__} is not a privacy model",
            hint="such as KAnonymity(5), or k=5",
            key=("models",),
        )
    for place, model in enumerate((asked,) if is_one else asked):
        with about("models", place):
            models.append(_read_model(model, folder))
    if not models:
        raise SpecError(
            "k is missing", hint="such as k = 5: each class then has 5 rows or more"
        )
    return tuple(models)


def _read_model(model: object, folder: Path) -> PrivacyModel:
    if isinstance(model, PrivacyModel):
        _check_limits(model)
        return model
    if not isinstance(model, str | Mapping):
        kind = model if isinstance(model, type) else type(model)
        raise SpecError(
            f"{kind.__name__} is not a privacy model",
            hint="such as KAnonymity(5), or by name and parameters: "
            "'distinct-l-diversity l=2 sensitive=disease'",
        )
    from core_mondrian.models.load import model_from_mapping, parse_model

    plain = parse_model(model) if isinstance(model, str) else model
    read = model_from_mapping(plain, folder)
    _check_limits(read)
    return read


def _check_limits(model: PrivacyModel) -> None:
    """Refuse a model that every class passes: it would be reported as verified."""
    kind = type(model)
    if not dataclasses.is_dataclass(model):
        raise SpecError(
            f"the model {kind.__name__} is not a dataclass",
            hint="write @dataclass(frozen=True) above its class",
        )
    if not model.limits_anything:
        raise SpecError(
            f"the model {kind.__name__} sets no limit, so every class passes it",
            hint="its limits() return Limits(at_most=…), at_least or below; or it has "
            "min_rows",
        )


def _read_policy(given: JsonMapping, folder: Path) -> Policy:
    """Return the policy: one of ours, or ``file.py:Class`` with its own key=value."""
    asked = given.get("policy", "best")
    if isinstance(asked, type) and issubclass(asked, (BestPolicy, FunnelPolicy)):
        asked = asked()
    if not isinstance(asked, str):
        return _without_tables(asked, given)
    chosen = _own_policy(asked, folder) if ":" in asked else _shipped_policy(asked)
    _check_tables(given, chosen)
    options = {**given.get(chosen.table, {}), **chosen.given}
    fields = {item.name: item for item in dataclasses.fields(chosen.kind)}
    _check_names(options, fields, f"{chosen.table}.")
    if isinstance(options.get("breakout_thresholds"), Mapping):
        options["breakout_thresholds"] = tuple(options["breakout_thresholds"].items())
    if options.get("rilm_epsilon") == "always":  # TOML has no null
        options["rilm_epsilon"] = None
    frozen = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in options.items()
    }
    try:
        policy: Policy = chosen.kind(**frozen)
    except TypeError:
        raise SpecError(
            f"[{chosen.table}] has a value of the wrong kind", key=(chosen.table,)
        ) from None
    return policy


class _ChosenPolicy(NamedTuple):
    """A class of policies, and where its options stand."""

    kind: Any
    title: str
    table: str
    given: JsonObject


def _shipped_policy(name: str) -> _ChosenPolicy:
    if name not in POLICIES:
        close = difflib.get_close_matches(name.partition(" ")[0], POLICIES, n=1)
        raise SpecError(
            f"policy is one of {', '.join(POLICIES)}",
            hint=f"did you mean {close[0]!r}?" if close else "the usual one is 'best'",
            key=("policy",),
        )
    return _ChosenPolicy(POLICIES[name], name, name, {})


def _own_policy(text: str, folder: Path) -> _ChosenPolicy:
    """Return the class that ``file.py:Class key=value`` names, and its fields."""
    from core_mondrian.models.load import parse_model
    from core_mondrian.models.own_files import load_class

    with about("policy"):
        given = parse_model(text)
        kind: Any = load_class(given.pop("name"), folder, FunnelPolicy, "policy")
    table = "original" if issubclass(kind, OriginalPolicy) else "paper"
    return _ChosenPolicy(kind, kind.__name__, table, given)


def _check_tables(given: Mapping[str, object], chosen: _ChosenPolicy) -> None:
    for other in POLICIES:
        if other in given and other != chosen.table:
            raise SpecError(
                f"[{other}] is given, but the policy is {chosen.title!r}",
                hint=f"drop it, or take policy {other!r}",
                key=(other,),
            )
        if not isinstance(given.get(other, {}), Mapping):
            raise wrong_kind(given[other], other, "a table of the policy's options")


def _without_tables(policy: Any, given: JsonMapping) -> Policy:  # noqa: ANN401
    for name in POLICIES:
        if name in given:
            raise SpecError(
                f"{name} is given beside a policy that has its own options",
                hint=f"policy='{name}' goes with {name}={{…}}",
                key=(name,),
            )
    if not isinstance(policy, BestPolicy | FunnelPolicy):
        raise SpecError(
            f"{type(policy).__name__} is not a policy",
            hint="take 'best', 'paper' or 'original', BestPolicy(), PaperPolicy() or "
            "OriginalPolicy(), or a class of your own that inherits from one of the "
            "last two",
            key=("policy",),
        )
    checked: Policy = policy  # type: ignore[assignment]
    return checked


def _read_suppression(
    given: JsonMapping, thresholds: Thresholds, policy: Policy
) -> Suppression | None:
    suppress, multiplier = given.get("suppress"), given.get("suppress_multiplier", 1)
    _check_multiplier(multiplier, suppress)
    if isinstance(suppress, Suppression):
        return suppress
    if isinstance(suppress, float):
        share = f"{suppress * 100:g}%" if 0 <= suppress < 1 else "1%"
        raise SpecError(
            "suppress is a percentage or a whole number of rows",
            hint=f'write suppress = "{share}"',
            key=("suppress",),
        )
    if suppress is not None:
        if isinstance(suppress, bool) or not isinstance(suppress, str | int):
            raise wrong_kind(suppress, "suppress", 'a share such as "1%", or a number')
        return parse_suppression(suppress, multiplier)
    if multiplier == 1:
        return None
    kept = thresholds.pct_non_suppressed
    if kept is None or isinstance(policy, BestPolicy):
        kept = 1  # as Spec.budget has it: a margin on nothing is nothing
    share_of_rows = 1 - exact(kept, "pct_non_suppressed")
    factor = exact(multiplier, "suppress_multiplier")
    return Suppression(share=share_of_rows, multiplier=factor)


def _check_multiplier(multiplier: object, suppress: object) -> None:
    if isinstance(multiplier, bool) or not isinstance(multiplier, int | float | str):
        raise wrong_kind(multiplier, "suppress_multiplier", "a number")
    if isinstance(suppress, Suppression) and multiplier != 1:
        raise SpecError(
            "suppress_multiplier is given beside a Suppression",
            hint="Suppression(share=…, multiplier=…) has its own",
        )


def _read_thresholds(given: object) -> Thresholds:
    if isinstance(given, Thresholds):
        return given
    if not isinstance(given, Mapping):
        raise wrong_kind(given, "thresholds", "a table")
    names = [item.name for item in dataclasses.fields(Thresholds)]
    _check_names(given, names, "thresholds.")
    read: dict[str, float | None] = {}
    for key, value in given.items():
        is_off = value is None or value == "off"  # TOML has no null
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_off and not is_number:
            raise SpecError(f"thresholds.{key} is a number between 0 and 1, or 'off'")
        read[key] = None if is_off else value
    return Thresholds(**read)


def _check_names(given: Iterable[str], known: Iterable[str], where: str) -> None:
    names = list(known)
    for key in given:
        if key not in names:
            from core_mondrian.spec.unknown_keys import hint_for

            way = (*where.split(".")[:-1], key)
            hint = hint_for(key, names)
            raise SpecError(
                f"unknown key {where + key!r} in the spec", hint=hint, key=way
            )

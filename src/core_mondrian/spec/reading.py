"""How each key of a spec is read: the same words in Python, TOML and on flags."""

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from operator import index
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from core_mondrian.errors import SpecError, about
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.load import load_hierarchies
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.spec.policies import (
    POLICIES,
    BestPolicy,
    FunnelPolicy,
    OriginalPolicy,
    Policy,
)
from core_mondrian.spec.suppression import Suppression, exact, parse_suppression
from core_mondrian.spec.thresholds import Thresholds

_POSITIONAL: Final = ("quasi_identifiers", "models")
Read: TypeAlias = Callable[[Any, str], Any]


def read_keys(given: Mapping[str, Any], folder: Path = Path()) -> dict[str, Any]:
    """Return the fields of a `Spec` that plain values stand for.

    What is a field's value already stays as it is. Files are relative to ``folder``.

    Raises:
        SpecError: an unknown key, or a value of the wrong kind.
    """
    if "sensitive" in given:
        raise SpecError(
            "sensitive columns are named by the models that protect them",
            hint='models="distinct-l-diversity l=2 sensitive=disease" beside k=5',
            key=("sensitive",),
        )
    _check_names(given, (*KEYS, *(f"{key}_by_column" for key in BY_COLUMN)), "")
    read = {
        key: reader(given[key], key) for key, reader in _READERS.items() if key in given
    }
    for key in BY_COLUMN:
        read |= _read_by_column(given, key)
    trees, uncovered = _read_hierarchies(given.get("hierarchies", {}), folder)
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


def bind_keys(args: tuple[Any, ...], keys: dict[str, Any]) -> dict[str, Any]:
    """Return what a spec is made of by key: columns and models may stand alone.

    Raises:
        SpecError: there is more without a key, or something is given twice.
    """
    if len(args) > len(_POSITIONAL):
        raise SpecError(
            "only quasi-identifiers and models need no key",
            hint='for example Spec(["age", "sex"], k=5, suppress="1%")',
        )
    given = dict(zip(_POSITIONAL, args, strict=False))
    if twice := sorted(given.keys() & keys):
        raise SpecError(f"{twice[0]} is given twice", hint="leave one of them out")
    return {**given, **keys}


def _read_texts(value: Any, key: str) -> tuple[str, ...]:  # noqa: ANN401
    if isinstance(value, str):
        return (value,)
    is_list = isinstance(value, Iterable) and not isinstance(value, Mapping | bytes)
    texts = tuple(value) if is_list else (None,)
    if any(not isinstance(text, str) for text in texts):
        raise SpecError(
            f"{key} is a list of texts", hint=f"such as {key} = ['age', 'sex']"
        )
    return texts


def _read_text(value: Any, key: str) -> str | None:  # noqa: ANN401
    if value is None or isinstance(value, str):
        return value
    raise _wrong_kind(value, key, "a text")


def _read_flag(value: Any, key: str) -> bool:  # noqa: ANN401
    if isinstance(value, bool):
        return value
    raise _wrong_kind(value, key, "true or false")


def _read_whole(value: Any, key: str) -> int | None:  # noqa: ANN401
    if value is None:
        return None
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise _wrong_kind(value, key, "a whole number")


def _read_table(value: Any, key: str) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(value, Mapping):
        return dict(value)
    raise _wrong_kind(value, key, "a table by column")


def _wrong_kind(value: object, key: str, wanted: str) -> SpecError:
    kind = type(value).__name__
    return SpecError(
        f"{key} has the wrong kind: {kind}", hint=f"it is {wanted}", key=(key,)
    )


BY_COLUMN: Final = ("numbers", "categories", "nice", "uncovered")
"""Keys that are one word, or a table by column in which it is the default."""
_READERS: Final[dict[str, Read]] = {
    "quasi_identifiers": _read_texts,
    "identifiers": _read_texts,
    "unit": _read_text,
    "pseudonyms": _read_texts,
    "pseudonym_domains": _read_table,
    "weight": _read_text,
    "accept": _read_texts,
    "missing": _read_text,
    "small_patterns": _read_text,
    "suppressed": _read_text,
    "class_id": _read_text,
    "shuffle": _read_whole,
    "guard_formulas": _read_flag,
    "weights": _read_table,
    "inline_below": _read_whole,
    "exclude": _read_texts,
    "null_values": _read_texts,
}
KEYS: Final[dict[str, type | tuple[type, ...]]] = {
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
    "uncovered": (str, dict),
    "thresholds": dict,
    "best": dict,
    "paper": dict,
    "original": dict,
}
"""What a spec file may say, and the kinds of plain values that stand for it."""


def _read_by_column(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    by_column = dict(given.get(f"{key}_by_column", {}))
    if key not in given:
        return {f"{key}_by_column": by_column} if by_column else {}
    value = given[key]
    if not isinstance(value, Mapping):
        kinds = (bool,) if key == "nice" else (str,)
        if not isinstance(value, kinds):
            raise _wrong_kind(value, key, "one word, or a table by column")
        return {key: value, f"{key}_by_column": by_column}
    table = dict(value)
    default = {key: table.pop("default")} if "default" in table else {}
    return {**default, f"{key}_by_column": {**table, **by_column}}


def _read_models(given: Mapping[str, Any], folder: Path) -> tuple[PrivacyModel, ...]:
    """Return the models, after the short form of the usual one."""
    models: list[PrivacyModel] = []
    if given.get("k") is not None:
        models.append(KAnonymity(_read_k(given["k"])))
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
        raise SpecError("k is missing", hint="k = 5 lets nobody stand in fewer than 5")
    return tuple(models)


def _read_k(value: object) -> int:
    number = _read_whole(value, "k")
    if number is None:
        raise SpecError("k is missing", hint="k = 5 lets nobody stand in fewer than 5")
    return number


def _read_model(model: Any, folder: Path) -> PrivacyModel:  # noqa: ANN401
    if isinstance(model, PrivacyModel):
        return model
    if not isinstance(model, str | Mapping):
        kind = model if isinstance(model, type) else type(model)
        raise SpecError(
            f"{kind.__name__} is not a privacy model",
            hint="such as KAnonymity(5), or by name and parameters: "
            "'distinct-l-diversity l=2 sensitive=disease'",
        )
    from core_mondrian.models.load import model_from_mapping, parse_model

    asked = parse_model(model) if isinstance(model, str) else model
    return model_from_mapping(asked, folder)


def _read_policy(given: Mapping[str, Any], folder: Path) -> Policy:
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
    given: dict[str, Any]


def _shipped_policy(name: str) -> _ChosenPolicy:
    if name not in POLICIES:
        close = difflib.get_close_matches(name, POLICIES, n=1)
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


def _check_tables(given: Mapping[str, Any], chosen: _ChosenPolicy) -> None:
    for other in POLICIES:
        if other in given and other != chosen.table:
            raise SpecError(
                f"[{other}] is given, but the policy is {chosen.title!r}",
                hint=f"drop it, or take policy {other!r}",
                key=(other,),
            )
        if not isinstance(given.get(other, {}), Mapping):
            raise _wrong_kind(given[other], other, "a table of the policy's options")


def _without_tables(policy: Any, given: Mapping[str, Any]) -> Policy:  # noqa: ANN401
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
    given: Mapping[str, Any], thresholds: Thresholds, policy: Policy
) -> Suppression | None:
    asked, multiplier = given.get("suppress"), given.get("suppress_multiplier", 1)
    _check_multiplier(multiplier, asked)
    if isinstance(asked, Suppression):
        return asked
    if isinstance(asked, float):
        share = f"{asked * 100:g}%" if 0 <= asked < 1 else "1%"
        raise SpecError(
            "suppress is a percentage or a whole number of rows",
            hint=f'write suppress = "{share}"',
            key=("suppress",),
        )
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, str | int):
            raise _wrong_kind(asked, "suppress", 'a share such as "1%", or a number')
        return parse_suppression(asked, multiplier)
    if multiplier == 1:
        return None
    kept = thresholds.pct_non_suppressed
    if kept is None or isinstance(policy, BestPolicy):
        kept = 1  # as Spec.budget has it: a margin on nothing is nothing
    share_of_rows = 1 - exact(kept, "pct_non_suppressed")
    factor = exact(multiplier, "suppress_multiplier")
    return Suppression(share=share_of_rows, multiplier=factor)


def _check_multiplier(multiplier: object, asked: object) -> None:
    if isinstance(multiplier, bool) or not isinstance(multiplier, int | float | str):
        raise _wrong_kind(multiplier, "suppress_multiplier", "a number")
    if isinstance(asked, Suppression) and multiplier != 1:
        raise SpecError(
            "suppress_multiplier is given beside a Suppression",
            hint="Suppression(share=…, multiplier=…) has its own",
        )


def _read_hierarchies(
    given: Any,  # noqa: ANN401
    folder: Path,
) -> tuple[dict[str, Hierarchy | Builder], dict[str, Any]]:
    if not isinstance(given, Mapping):
        raise _wrong_kind(given, "hierarchies", "a table by column")
    return load_hierarchies(given, folder)


def _read_thresholds(given: Any) -> Thresholds:  # noqa: ANN401
    if isinstance(given, Thresholds):
        return given
    if not isinstance(given, Mapping):
        raise _wrong_kind(given, "thresholds", "a table")
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
            close = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {sorted(names)}"
            way = (*where.split(".")[:-1], key)
            raise SpecError(
                f"unknown key {where + key!r} in the spec", hint=hint, key=way
            )

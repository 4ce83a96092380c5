"""What somebody may have meant by a key that a spec does not have."""

import dataclasses
import difflib
from collections.abc import Sequence
from typing import Final

from core_mondrian.spec.policies import BestPolicy

_MEANT: Final = {
    "qi": "quasi_identifiers",
    "qid": "quasi_identifiers",
    "qids": "quasi_identifiers",
    "columns": "quasi_identifiers",
    "drop": "identifiers",
    "remove": "identifiers",
    "person": "unit",
    "max_suppressed": "suppress",
}
"""Words of other programs, and of our command line."""
_DRAWN: Final = "rows are drawn under a secret: key=… (16 bytes or more) repeats a run"
_HINTS: Final = {"seed": _DRAWN, "random_state": _DRAWN}


def hint_for(key: str, known: Sequence[str]) -> str:
    """Return what to write instead of an unknown key."""
    if key in _HINTS:
        return _HINTS[key]
    if (meant := _MEANT.get(key)) in known:
        return f"did you mean {meant!r}?"
    if "models" in known and (model := _model_with(key)):
        return f'a model has it: models="{model}" beside k=5'
    if "policy" in known and key in {x.name for x in dataclasses.fields(BestPolicy)}:
        return f"a policy has it: policy=BestPolicy({key}=…), or a table [best]"
    if close := difflib.get_close_matches(key, known, n=1):
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(sorted(known))}"


def _model_with(key: str) -> str | None:
    """Return how the first shipped model with this parameter is asked for."""
    from core_mondrian.models import MODELS

    for name, model in MODELS.items():
        fields = getattr(model, "__dataclass_fields__", {})
        if key in fields and key != "k":
            shown = [f"{key}=…", *(["sensitive=…"] if "sensitive" in fields else [])]
            return " ".join([name, *shown])
    return None

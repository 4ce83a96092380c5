"""What classes show by a policy of the user's own (§3.4)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from core_mondrian.errors import SpecError
from core_mondrian.recoding.labels import Labels
from core_mondrian.recoding.value_sets import ValueSets


def show_own(
    usual: Labels,
    sets: ValueSets,
    values: pa.Array,
    show: Callable[[Sequence[Any]], str | None],
) -> Labels:
    """Return the texts that ``show`` gives for the values of each class.

    It is asked once for each set of values, so that classes with the same values show
    the same. Where it returns None, and in classes with missing values, they show what
    they usually do.
    """
    plain = usual.texts.to_pylist()
    # Classes may have the same values, and not the same range on a grid.
    pairs = np.stack([sets.of_class, usual.index], axis=1)
    distinct, number = np.unique(pairs, axis=0, return_inverse=True)
    texts: list[str | None] = []
    for at, index in distinct.tolist():
        codes = sets.codes[sets.starts[at] : sets.starts[at + 1]]
        own = None
        if index >= 0 and codes[-1] < len(values):
            own = _ask(show, values.take(pa.array(codes)))
        texts.append(own if own is not None or index < 0 else plain[index])
    labels = pa.array(texts, pa.string()).dictionary_encode()
    of_pair = labels.indices.fill_null(-1).to_numpy().astype(np.int32)
    return replace(
        usual, index=of_pair[number.ravel()], shown=labels.dictionary, ends=None
    )


def _ask(show: Callable[[Sequence[Any]], str | None], values: pa.Array) -> str | None:
    try:
        text = show(values.to_pylist())
        is_text = isinstance(text, str) and len(text.encode()) > 0
    except Exception as error:  # noqa: BLE001
        raise SpecError(
            f"the policy's show raised a {type(error).__name__}",
            hint="call it with a column and values of your own to see why",
        ) from None
    if text is not None and not is_text:
        raise SpecError(
            f"the policy's show returned a {type(text).__name__}",
            hint="it returns a text that is not empty, or None for the usual",
        )
    return text

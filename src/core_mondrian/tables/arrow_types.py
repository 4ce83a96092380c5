"""Which Arrow types are text."""

import pyarrow as pa

from core_mondrian.runtime.array_types import ArrowType


def is_text(kind: ArrowType) -> bool:
    """Return whether a type is text, not dictionary-encoded."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def holds_text(kind: ArrowType) -> bool:
    """Return whether a type is text, maybe as a dictionary."""
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)

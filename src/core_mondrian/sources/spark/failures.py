"""Spark's errors as ours: theirs quote cells."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from core_mondrian import errors
from core_mondrian.errors import DataError, MondrianError

_OURS: Final = re.compile(
    r"core_mondrian\.errors\.(\w+): ([^\n]*)(?:\nhint: ([^\n]*))?"
)
_HINT: Final = "Spark's own log says more; it may hold cells, so do not pass it on"


@contextmanager
def working(what: str, kind: type[MondrianError] = DataError) -> Iterator[None]:
    """Turn Spark's errors into ours, which hold no cell; ``what`` it was at.

    Raises:
        MondrianError: an error of ours that an executor raised, else one of ``kind``.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise _told(error, what, kind) from None


def _told(error: Exception, what: str, kind: type[MondrianError]) -> MondrianError:
    # An error of ours comes back from an executor as the text of its traceback.
    found = _OURS.search(str(error))
    ours = getattr(errors, found[1], None) if found else None
    if found and isinstance(ours, type) and issubclass(ours, MondrianError):
        told: MondrianError = ours(found[2])
        told.hint = found[3] or told.hint
        return told
    condition = getattr(error, "getCondition", lambda: None)()
    return kind(
        f"Spark failed {what} ({condition or type(error).__name__})", hint=_HINT
    )

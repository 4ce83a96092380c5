"""Spark's errors as ours: theirs quote cells."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from core_mondrian import errors
from core_mondrian.errors import DataError, MondrianError, SpecError
from core_mondrian.sources import causes
from core_mondrian.sources.causes import DISK_FULL, NO_SERVER, Cause

_OURS: Final = re.compile(
    r"core_mondrian\.errors\.(\w+): ([^\n]*)(?:\nhint: ([^\n]*))?"
)
_HINT: Final = "Spark's own log says more; it may hold cells, so do not pass it on"


LOGIN: Final = causes.LOGIN.with_hint("check user and token in the address")
NO_CORES: Final = Cause(
    "no executor took a job",
    "wait until the cluster has a free core; CORE_MONDRIAN_SPARK_WAIT=SECONDS waits "
    "longer",
)
NO_PACKAGE: Final = Cause(
    "a package is missing on the executors, or of another Python",
    "pack core-mondrian for them, see docs/spark.md",
    SpecError,
)
NO_TABLE: Final = Cause("there is no such table", "check its name")
NO_FILE: Final = Cause("there is no such file", "check the path")
NO_MEMORY: Final = causes.NO_MEMORY.with_hint(
    "give executors more: spark.executor.memory, spark.executor.memoryOverhead"
)
ENDED: Final = Cause("the server has ended", "its log says why; then run again")

_CAUSES: Final = {
    r"UNAUTHENTICATED|PERMISSION_DENIED": LOGIN,
    r"UNAVAILABLE|RETRIES_EXCEEDED|Connection refused|Masters? .*unresponsive": (
        NO_SERVER
    ),
    r"ModuleNotFoundError|PYTHON_VERSION_MISMATCH|PACKAGE_NOT_INSTALLED": NO_PACKAGE,
    r"TABLE_OR_VIEW_NOT_FOUND": NO_TABLE,
    r"PATH_NOT_FOUND": NO_FILE,
    r"No space left on device": DISK_FULL,
    r"OutOfMemoryError|MemoryError": NO_MEMORY,
    r"Py4JNetworkError|Answer from Java side is empty|SESSION_CLOSED": ENDED,
}
"""By what Spark says, from the most certain on."""


@contextmanager
def working(what: str, kind: type[MondrianError] = DataError) -> Iterator[None]:
    """Turn Spark's errors into ours, which hold no cell; ``what`` it was asked to do.

    Raises:
        MondrianError: an error of ours that an executor raised, else one of ``kind``,
            unless the cause has one of its own.
    """
    from pyspark.errors import PySparkException

    kinds: tuple[type[Exception], ...] = (PySparkException,)
    with suppress(ImportError):  # who has but a Connect client is without Java
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        kinds = (PySparkException, Py4JError)
    try:
        yield
    except kinds as error:
        raise _told(error, what, kind) from None


def failed(
    what: str, cause: Cause, kind: type[MondrianError] = DataError
) -> MondrianError:
    """Return what is said of a known cause."""
    own = cause.kind or kind
    return own(f"Spark failed to {what}: {cause.text}", hint=cause.hint)


def _told(error: Exception, what: str, kind: type[MondrianError]) -> MondrianError:
    # An error of ours comes back from an executor as the text of its traceback.
    said = f"{type(error).__name__} {error}"
    found = _OURS.search(said)
    ours = getattr(errors, found[1], None) if found else None
    if found and isinstance(ours, type) and issubclass(ours, MondrianError):
        told: MondrianError = ours(found[2])
        told.hint = found[3] or told.hint
        return told
    for words, cause in _CAUSES.items():
        if re.search(words, said):
            return failed(what, cause, kind)
    condition = getattr(error, "getCondition", lambda: None)()
    return kind(
        f"Spark failed to {what} ({condition or type(error).__name__})", hint=_HINT
    )

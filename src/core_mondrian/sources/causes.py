"""Why others that have the rows fail: the usual causes, in the same words for all."""

from typing import Final, NamedTuple

from core_mondrian.errors import MemoryLimitError, MondrianError, OutputError


class Cause(NamedTuple):
    """One of the usual reasons, what helps, and what kind of error it is."""

    text: str
    hint: str
    kind: type[MondrianError] | None = None
    """None: what was to be done decides."""

    def with_hint(self, hint: str) -> "Cause":
        """Return the same reason, where something else helps."""
        return self._replace(hint=hint)


LOGIN: Final = Cause("the login failed", "check user and password")
NO_SERVER: Final = Cause(
    "the server cannot be reached", "check host and port, and that it is running"
)
DISK_FULL: Final = Cause("the disk is full", "make room", OutputError)
NO_MEMORY: Final = Cause(
    "the memory does not suffice", "allow more: --memory SIZE", MemoryLimitError
)

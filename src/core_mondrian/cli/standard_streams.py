"""Standard streams that may be closed, full or left by their reader.

What a command prints is not what it is for: a release that was written stays written,
whatever becomes of the lines about it. So a stream that fails is given up, and what
comes after it goes nowhere.
"""

import errno
import os
import sys
from typing import Any, Final, TextIO

_NAMES: Final = ("stdin", "stdout", "stderr")


def open_closed_streams() -> None:
    """Let the first three file handles lead somewhere.

    A file that is opened later would get the handle of a closed stream, and what
    libraries print would end up in it.
    """
    for handle, name in enumerate(_NAMES):
        try:
            os.fstat(handle)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the lowest handle
            if opened != handle:
                os.dup2(opened, handle)
                os.close(opened)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(handle, mode, closefd=False))  # noqa: SIM115


def guard_streams() -> "tuple[GuardedStream, GuardedStream]":
    """Put streams that never fail in the place of standard output and error."""
    guarded = GuardedStream(sys.stdout), GuardedStream(sys.stderr)
    sys.stdout, sys.stderr = guarded
    return guarded


class GuardedStream:
    """A stream that remembers its first failure and is silent from then on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None
        """Why what was printed did not arrive."""

    @property
    def has_left(self) -> bool:
        """Tell whether the reader of a pipe is gone, such as `head`."""
        return self.error is not None and self.error.errno == errno.EPIPE

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Lead the handle nowhere: Python flushes it once more at its end."""
        self.error = self.error or error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # as the stream has it
        return getattr(self._stream, name)

"""Put tables in their places when all is verified, together with their files."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from core_mondrian.errors import MondrianError, OutputError, reason
from core_mondrian.sources.spark.tables import Spot, check_spot
from core_mondrian.tables.files.atomic_write import Content, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Placing:
    """Tables are written beside their places, and moved if the block ends well.

    Otherwise nothing is left of them, and what was there before stays. The first is the
    release; files of the others, which hold rows as they are, only the user can read.
    """

    def __init__(
        self, session: "SparkSession", spots: Sequence[Spot], *, overwrite: bool
    ) -> None:
        self._session = session
        self._spots = spots
        self._overwrite = overwrite
        self._backups: list[Spot] = []
        self._moved: list[int] = []
        self._is_moving = False
        self._stack = ExitStack()
        self.drafts: list[Spot] = []
        """Where to write."""
        self.texts: dict[Path, Content] = {}
        self.private: list[Path] = []
        """Files that go with the tables; None: that must not be there."""

    def __enter__(self) -> "Placing":
        with ExitStack() as stack:
            for spot in self._spots:
                draft, backup = stack.enter_context(spot.beside())
                self.drafts.append(draft)
                self._backups.append(backup)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._move()
        finally:
            with self._stack:
                for leftover in (*self.drafts, *self._backups):
                    with suppress(OSError, MondrianError):
                        leftover.remove(self._session)

    def abandon(self) -> None:
        """Remove folders of drafts though whoever writes them was left behind.

        Not once they are moved: what they replace is there, too.
        """
        if not self._is_moving:
            self._stack.close()

    def _move(self) -> None:
        self._is_moving = True
        try:
            for i, spot in enumerate(self._spots):
                check_spot(spot, self._session, overwrite=self._overwrite)
                if spot.exists(self._session):
                    spot.move(self._session, self._backups[i])
                self._moved.append(i)
                if i > 0:
                    self.drafts[i].make_private()
                self.drafts[i].move(self._session, spot)
            write_files(self.texts, overwrite=self._overwrite, private=self.private)
        except BaseException as error:
            self._take_back()
            if isinstance(error, OSError):
                told = f"cannot be put in place ({reason(error)})"
                raise OutputError(told, hint="nothing was written") from None
            raise

    def _take_back(self) -> None:
        for i in self._moved:
            with suppress(OSError, MondrianError):
                self._spots[i].remove(self._session)
                if self._backups[i].exists(self._session):
                    self._backups[i].move(self._session, self._spots[i])

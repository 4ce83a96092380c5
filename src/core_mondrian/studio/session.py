"""Sessions: what each tab has loaded, chosen and made; tabs share nothing."""

import copy
import secrets
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from core_mondrian.errors import SpecError
from core_mondrian.studio.actions import OpenedTable, Run
from core_mondrian.studio.draft import Draft, draft_of
from core_mondrian.studio.jobs import Job
from core_mondrian.studio.reading import Named

_IDLE_CHECKS: Final = 30
"""A tab that nobody has looked at in so many checks is forgotten."""
_LONGEST_END: Final = 5.0
"""Seconds that the end of the studio may take."""


@dataclass
class Session:
    """The state of one tab."""

    name: str
    folder: Path
    """Its files; nothing is written anywhere else."""
    opened: OpenedTable | None = None
    draft: Draft = field(default_factory=Draft)
    runs: list[Run] = field(default_factory=list)
    n_started: int = 0
    n_files: int = 0
    n_idle: int = 0
    jobs: list[Job[Any]] = field(default_factory=list)
    release_job: Job[Run] | None = None
    is_shown: bool = False
    """Whether a page in a browser shows it."""
    writing: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Held while a file is written: two requests for one are not to meet."""
    key: bytes | None = field(default=None, repr=False)
    """That of pseudonyms; it is in no spec, and in no file but the user's."""

    @property
    def files(self) -> Path:
        """The folder of the files that the spec names."""
        return self.folder / "files"

    def take(self, opened: OpenedTable) -> None:
        """Begin with another table."""
        self.opened = opened
        self.draft = draft_of(opened.guesses)
        self.draft.folder = self.files
        self.runs.clear()

    def copy_to(self, other: "Session") -> None:
        """Let another tab begin where this one is."""
        other.opened = None if self.opened is None else self.opened.in_(other.folder)
        other.draft = copy.deepcopy(self.draft)
        other.draft.folder = other.files
        if self.files.is_dir():
            shutil.copytree(self.files, other.files)
        other.key = self.key
        other.runs = list(self.runs)
        other.n_started = self.n_started

    def close(self) -> None:
        """Stop what is at work, and remove the files."""
        for job in self.jobs:
            job.cancel()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Studio:
    """All sessions, below one private folder."""

    folder: Path
    most_bytes: int
    first: Path | None = None
    """The table of the command line."""
    first_spec: Named | None = None
    """The spec of the command line."""
    sessions: dict[str, Session] = field(default_factory=dict)

    def new_session(self) -> Session:
        """Return a session that no other tab knows."""
        name = secrets.token_urlsafe(9)
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        self.sessions[name] = Session(name, folder)
        return self.sessions[name]

    def file_of(self, session: str, number: int, name: str) -> tuple[Path, str]:
        """Write a file of a run; return where it stands and what its user calls it.

        Raises:
            SpecError: there is no such session, run or file.
        """
        if session in self.sessions:
            own = self.sessions[session]
            for run in own.runs:
                if run.number == number:
                    with own.writing:
                        return run.write(name, own.folder), run.downloads[name]
        raise SpecError("there is no such run")

    def forget_idle(self) -> None:
        """Close sessions whose tab is gone; called every now and then."""
        for session in list(self.sessions.values()):
            session.n_idle = 0 if session.is_shown else session.n_idle + 1
            if session.n_idle > _IDLE_CHECKS:
                del self.sessions[session.name]
                session.close()

    def close(self) -> None:
        """Close all sessions and remove the folder.

        Threads are waited for: one that is inside a library while Python ends may take
        the process down. Those that do not stop for long are left to it.
        """
        for session in self.sessions.values():
            session.close()
        until = time.monotonic() + _LONGEST_END
        for session in self.sessions.values():
            for job in session.jobs:
                job.wait(max(until - time.monotonic(), 0.0))
        shutil.rmtree(self.folder, ignore_errors=True)

"""A session of our own on a cluster; who is not there is told from within seconds."""

import logging
import os
import re
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from core_mondrian.errors import SpecError
from core_mondrian.sources.causes import NO_SERVER, Cause
from core_mondrian.sources.spark.failures import NO_CORES, failed, working
from core_mondrian.sources.spark.watch import watching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WAIT: Final = 20.0
"""Seconds until a server has to answer and an executor to take a job."""
_LEAST: Final = 4.0
"""Seconds for each of them, though Java took long to start."""
_PAUSE: Final = 0.1
_PROBE: Final = 5.0
"""Seconds until a port has to answer."""
_GOODBYE: Final = 2.0
"""Seconds for a session to end."""
_STARTED: Final = 60.0
"""Seconds for Java to start, so that it can be stopped."""
_PORTS: Final = {"sc": 15002, "spark": 7077}
_RETRIES: Final = 6
"""Attempts to reach a server that has answered before: about a minute."""


@contextmanager
def connected(master: str | None, remote: str | None) -> "Iterator[SparkSession]":
    """Connect to a cluster: as spark-submit says, if to none.

    Raises:
        SpecError: both are named, or Spark is not installed.
        DataError: it does not answer, or no executor is free.
    """
    if master is not None and remote is not None:
        raise SpecError("--master and --remote are two ways to one cluster: take one")
    for address in (master, remote):
        if address is not None:
            _probe(address)
    begun = time.monotonic()
    session = _start(master, remote)
    took = time.monotonic() - begun
    # Where Java starts slowly here, that of an executor does, too.
    late = _alarm(max(_patience() - took, took))
    try:
        if remote is not None:
            _within(late, lambda: _ask(session), "connect", NO_SERVER)
        _try_job(session, late)
        yield session
    finally:
        _retry(session, 0)  # who does not answer now is not waited for
        quietly(session.stop)


def _probe(address: str) -> None:
    """Raise DataError if nobody listens where a cluster should be.

    Spark itself would try for minutes.
    """
    kind, _, rest = address.partition("://")
    if kind not in _PORTS:
        return
    # Several masters may stand by for each other; a Connect address has parameters.
    for place in re.split(r"[/;]", rest, maxsplit=1)[0].split(","):
        found = re.fullmatch(r"(\[.*\]|[^:]*)(?::(\d+))?", place)
        if found is None:
            break
        host, port = found[1].strip("[]"), int(found[2] or _PORTS[kind])
        with suppress(OSError), socket.create_connection((host, port), _PROBE):
            return
    raise failed("connect", NO_SERVER)


def _start(master: str | None, remote: str | None) -> "SparkSession":
    """Open a session on a thread: whoever interrupts that leaves no Java behind."""
    done: list[SparkSession | BaseException] = []

    def do() -> None:
        try:
            done.append(_open(master, remote))
        except BaseException as error:  # noqa: BLE001  # raised below
            done.append(error)

    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        thread.join(_STARTED)
        for one in done:
            if not isinstance(one, BaseException):
                quietly(one.stop)
        raise
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]


def _open(master: str | None, remote: str | None) -> "SparkSession":
    for words in ("PySpark does not yet fully support pandas", ".*RETRIES_EXCEEDED"):
        warnings.filterwarnings("ignore", words)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SpecError(
            "Spark is not installed", hint="pip install 'core-mondrian[spark]'"
        ) from None
    # They show tracebacks, of interrupts as well.
    for name in ("py4j", "pyspark.sql.connect.logging", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_no_interrupt)  # which py4j shows there
    with working("start; it needs Java 17 or newer", SpecError):
        if remote is not None:
            session = SparkSession.builder.remote(remote).create()
            _retry(session, _RETRIES)
            return session
        # Spark logs rows that it cannot read, and they must not be seen.
        builder = SparkSession.builder.config("spark.log.level", "OFF")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        builder = builder if master is None else builder.master(master)
        return builder.appName("core-mondrian").getOrCreate()


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or issubclass(kind, Exception)


def _retry(session: Any, times: int) -> None:  # noqa: ANN401
    """Say how often a Connect server is asked again that does not answer."""
    with suppress(Exception):  # not in every version, and not in a classic session
        from pyspark.sql.connect.client.retries import DefaultPolicy

        session.client.set_retry_policies([DefaultPolicy(max_retries=times)])


def _ask(session: "SparkSession") -> str:
    """Ask a server for anything: nobody has, so far."""
    with working("connect"):
        return session.version


def _alarm(seconds: float) -> threading.Event:
    """Return what is set when so many seconds have passed."""
    late = threading.Event()
    timer = threading.Timer(seconds, late.set)
    timer.daemon = True
    timer.start()
    return late


def _try_job(session: "SparkSession", late: threading.Event) -> None:
    """Raise DataError unless an executor takes a job in time."""
    tag = "core-mondrian-probe"

    def count() -> int:
        session.addTag(tag)  # of this thread
        with working("run a job"):
            return session.range(2).count()

    taken = threading.Event()
    try:
        with watching(session, lambda tasks: taken.set() if tasks.n_running else None):
            _within(late, count, "run a job", NO_CORES, taken)
    except BaseException:
        quietly(lambda: session.interruptTag(tag))
        raise


def _within(
    late: threading.Event,
    work: Callable[[], Any],
    what: str,
    cause: Cause,
    taken: threading.Event | None = None,
) -> Any:  # noqa: ANN401
    """Do something on a thread, and leave it behind if it takes too long.

    Once it is ``taken``, it may take its time.
    """
    found: list[Any] = []
    failures: list[BaseException] = []

    def do() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001  # raised below
            failures.append(error)

    taken = taken or threading.Event()
    thread = _on_thread(do, _LEAST)
    while thread.is_alive() and (taken.is_set() or not late.is_set()):
        thread.join(_PAUSE)
    if failures:
        raise failures[0]
    if not found:
        raise failed(what, cause)
    return found[0]


def quietly(work: Callable[[], Any]) -> None:
    """Tell a server to stop something, if it is still there."""

    def do() -> None:
        with suppress(Exception):
            work()

    _on_thread(do, _GOODBYE)


def _on_thread(work: Callable[[], None], seconds: float) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return thread


def _patience() -> float:
    with suppress(ValueError):
        return float(os.environ.get("CORE_MONDRIAN_SPARK_WAIT", _WAIT))
    return _WAIT

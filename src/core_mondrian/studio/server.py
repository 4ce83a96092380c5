"""The studio's server: on this machine only, for whoever has its address."""

import logging
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse, RedirectResponse
from nicegui import app, ui

from core_mondrian.errors import OutputError, SpecError
from core_mondrian.report.charts import start_engine
from core_mondrian.studio.access import HOST, Access
from core_mondrian.studio.guard import Guard
from core_mondrian.studio.page import Page
from core_mondrian.studio.reading import Named
from core_mondrian.studio.session import Session, Studio

_LOGGERS = ("nicegui", "uvicorn", "uvicorn.error", "uvicorn.access", "asyncio")
# A browser obeys these and those of the guard: no scripts, and nothing is loaded.
_REPORT_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-downloads"
}


class _Discreet(logging.Formatter):
    """Tells that something went wrong and where, never the message: it may quote."""

    def format(self, record: logging.LogRecord) -> str:
        kind = ""
        if record.exc_info and record.exc_info[0] is not None:
            kind = f": {record.exc_info[0].__name__}"
        return f"studio: {record.levelname.lower()} in {record.name}{kind}"


def serve(
    table: Path | None,
    port: int,
    most_bytes: int,
    print_address: Callable[[str], None],
    spec: Named | None = None,
    launch: Callable[[str], object] | None = None,
) -> None:
    """Serve the studio until it is interrupted.

    It begins with ``table`` and ``spec``, if there are any. ``print_address`` gets an
    address for the user, and another when one is used; ``launch`` gets one for a
    browser, which has to open it at once.

    Raises:
        OutputError: the port is taken.
    """
    with _bound(port) as listener, _private_folder() as folder:
        port = listener.getsockname()[1]
        access = Access(port, print_address)
        studio = Studio(folder, most_bytes, table, spec)
        guard = Guard(_build(studio), access, most_bytes)
        _quieten()
        config = uvicorn.Config(
            guard,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # or whoever asks could say who they are
            ws_max_size=1 << 20,
            timeout_graceful_shutdown=1,
        )
        start_engine()  # later it would stop the page of whoever needs the first chart
        server = uvicorn.Server(config)
        app.on_startup(access.print_address)
        if launch is not None:
            app.on_startup(lambda: launch(access.launch_address()))
        try:
            server.run(sockets=[listener])
        finally:
            studio.close()


@contextmanager
def _bound(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()  # the address is told before anybody is answered
        except OSError as error:
            raise OutputError(
                f"port {port}: {error.strerror}", hint="take another --port"
            ) from None
        yield listener


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Keep uploads, and what servers spool of them, in a folder that is removed.

    It is for this user alone, and so is each file in it.
    """
    with tempfile.TemporaryDirectory(prefix="core-mondrian-") as name:
        before, tempfile.tempdir = tempfile.tempdir, name
        mask = os.umask(0o077)
        try:
            yield Path(name)
        finally:
            os.umask(mask)
            tempfile.tempdir = before


def _quieten() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Discreet())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.ERROR)


def _build(studio: Studio) -> FastAPI:
    """Return the application: the page, and the files of finished runs."""
    outer = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    def download(session: str, number: int, name: str) -> FileResponse:
        path, title = _file_of(studio, session, number, name)
        return FileResponse(path, filename=title)

    def read(session: str, number: int) -> FileResponse:
        path, _ = _file_of(studio, session, number, "report.html")
        return FileResponse(path, media_type="text/html", headers=_REPORT_HEADERS)

    def show(session: str = "") -> RedirectResponse | None:
        own_session = studio.sessions.get(session)
        if own_session is None or own_session.is_shown:
            # Another tab has it: this one goes on with a copy.
            new = _fork(studio, own_session)
            return RedirectResponse(f"?session={new.name}", status_code=303)
        Page(studio, own_session).build()
        return None

    outer.get("/files/{session}/{number}/{name}")(download)
    outer.get("/read/{session}/{number}")(read)
    # The bar has no name for screen readers, and uploads show their own progress.
    app.config.quasar_config["loadingBar"]["skipHijack"] = True
    ui.page("/", title="core-mondrian studio", dark=None, language="en-US")(show)
    app.timer(60.0, studio.forget_idle)
    ui.run_with(
        outer,
        title="core-mondrian studio",
        show_welcome_message=False,
        favicon="◪",
        # A busy machine answers late: a page that is given up begins anew.
        reconnect_timeout=20.0,
    )
    return outer


def _file_of(studio: Studio, session: str, number: int, name: str) -> tuple[Path, str]:
    try:
        return studio.file_of(session, number, name)
    except SpecError:
        raise HTTPException(404, "there is no such file") from None


def _fork(studio: Studio, session: Session | None) -> Session:
    new = studio.new_session()
    if session is not None:
        session.copy_to(new)
    return new

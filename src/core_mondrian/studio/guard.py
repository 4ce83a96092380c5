"""Guard: who may talk to the studio, and how much may be sent to it.

Other pages in the same browser can send requests to this machine, and so can other
people on it. A request must name this host, come from this page or from none, go to the
path that nobody else knows, and bring the cookie that goes with it. Both are had for
the code of an address, once: see `Access`.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from core_mondrian.studio.access import HOST, Access

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_ANSWERS: Final = {
    403: "This page belongs to somebody's studio. Open the whole address that "
    "core-mondrian studio printed in the terminal, the newest if there are several: "
    "each opens once. If you did not use one that is used, somebody else did: end "
    "the studio.",
    411: "The size of what is sent has to be said first.",
    413: "This file is larger than the studio takes ({limit} MB). Raise it with "
    "--max-upload, or use core-mondrian anonymize, which has no such limit.",
}
_NOT_KEPT: Final = (b"cache-control", b"no-store")
_HEADERS: Final = {
    # Vue compiles templates, and NiceGUI's page has inline scripts; nothing may be
    # loaded from or sent to any other host.
    "content-security-policy": "default-src 'self'; base-uri 'none'; "
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Guard:
    """An ASGI application that lets through what may reach the one behind it."""

    app: App
    access: Access
    most_bytes: int

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            if self._is_welcome(scope, needs_origin=True) and self._is_inside(scope):
                await self.app(self._below_base_path(scope), receive, send)
            else:
                await send({"type": "websocket.close", "code": 4403})
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        if not self._is_welcome(scope):
            await self._refuse(403, send)
        elif (cookie := self._exchange(scope)) is not None:
            location = (b"location", f"{self.access.base_path}/".encode())
            headers = [location, (b"set-cookie", cookie.encode()), _NOT_KEPT]
            await _reply(303, b"", headers, send)
        elif not self._is_inside(scope):
            await self._refuse(403, send)
        elif refused := self._refused_size(scope):
            await self._refuse(refused, send)
        else:
            await self.app(self._below_base_path(scope), receive, _with_headers(send))

    def _is_welcome(self, scope: Message, *, needs_origin: bool = False) -> bool:
        """Tell whether the request means this host and comes from its own page."""
        hosts = [f"{name}:{self.access.port}" for name in (HOST, "localhost")]
        if _header(scope, b"host") not in hosts:
            return False
        origin = _header(scope, b"origin")
        if origin is None:
            return not needs_origin
        return origin in [f"http://{host}" for host in hosts]

    def _exchange(self, scope: Message) -> str | None:
        """Return the cookie for an address that was not used yet."""
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        is_front = scope["path"] == "/" and scope["method"] == "GET"
        if not is_front or "code" not in asked:
            return None
        _, port = scope.get("client") or ("", 0)
        return self.access.exchange(asked["code"][0], port)

    def _is_inside(self, scope: Message) -> bool:
        """Tell whether a request has both the path and the cookie."""
        cookies = _header(scope, b"cookie") or ""
        return self.access.is_below_base_path(scope["path"]) & self.access.has_cookie(
            cookies
        )

    def _below_base_path(self, scope: Message) -> Message:
        """Return a request as the application behind the path understands it."""
        return {**scope, "root_path": self.access.base_path}

    def _refused_size(self, scope: Message) -> int | None:
        """Return the status for a body that is too long or of unknown length."""
        if scope["method"] in ("GET", "HEAD"):
            return None
        length = _header(scope, b"content-length")
        if length is None or not length.isdecimal():
            return 411
        return 413 if int(length) > self.most_bytes else None

    async def _refuse(self, status: int, send: Send) -> None:
        text = _ANSWERS[status].format(limit=self.most_bytes >> 20)
        kind = [(b"content-type", b"text/plain; charset=utf-8")]
        await _reply(status, f"{text}\n".encode(), kind, send)


def _header(scope: Message, name: bytes) -> str | None:
    """Return a header; one that is there several times is nobody's."""
    values = [value for key, value in scope["headers"] if key == name]
    if len(values) > 1:
        return ""
    return values[0].decode("latin-1") if values else None


async def _reply(
    status: int, body: bytes, headers: list[tuple[bytes, bytes]], send: Send
) -> None:
    safe = _with_headers(send)
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status}
    await safe({**start, "headers": [*headers, length]})
    await safe({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def send_safely(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = [(k.encode(), v.encode()) for k, v in _HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *more]
        await send(message)

    return send_safely

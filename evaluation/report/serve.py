"""The page, live: a small server for one's own machine.

It gives two things, the page and its content, to whoever asks by a name of this machine. A site
elsewhere that points a name of its own at this address (DNS rebinding) is turned away.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
import socketserver
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from evaluation.report.page import compact_json, policy, render

Content = Callable[[], Mapping[str, Any]]

_NAMES = {"localhost", "127.0.0.1", "::1"}
_HTML = "text/html; charset=utf-8"
_JSON = "application/json; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"


class ServeError(Exception):
    """The server cannot start; the message says why in one sentence."""


def serve(
    content: Content,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until interrupted.

    Args:
        content: The content of the page (see ``render``). It is asked at every request and returns
            the same object again as long as nothing has changed.
        host: Address to listen on; anything but this machine's own lets others read along.
        port: Port to listen on; 0 for any that is free.
        on_ready: Called with the address of the page as soon as it can be opened.
    """
    with open_server(content, host=host, port=port) as server:
        if on_ready is not None:
            on_ready(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return


def open_server(content: Content, *, host: str = "127.0.0.1", port: int = 0) -> PageServer:
    """A server that listens already; ``serve_forever`` answers, ``shutdown`` ends that."""
    if not 0 <= port <= 65535:
        raise ServeError(f"A port is a number from 0 to 65535, not {port}.")
    try:
        return PageServer(content, host, port)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ServeError(
            f"Cannot listen on port {port} of {host}: {reason.lower()}; try another port, "
            f"or 0 for any that is free."
        ) from error


class PageServer(ThreadingHTTPServer):
    """Listens, and keeps the page and its content as bytes until the content changes."""

    def __init__(self, content: Content, host: str, port: int) -> None:
        self.host, self._content, self._lock = host, content, Lock()
        self._seen: Mapping[str, Any] | None = None
        self._made: dict[str, bytes] = {}
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """As usual, without asking the network for our own name, which can take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.host, int(self.server_address[1])

    @property
    def url(self) -> str:
        """Where the page can be opened on this machine."""
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{here}]' if ':' in here else here}:{self.server_port}/"

    def body(self, kind: str) -> bytes:
        """The page or its content, made anew only when there is something new."""
        with self._lock:
            content = self._content()
            if content is not self._seen:
                self._seen, self._made = content, {}
            if kind not in self._made:
                self._made[kind] = _MAKERS[kind](content)
            return self._made[kind]

    def knows(self, host: str) -> bool:
        """Whether a Host header names this machine.

        Bound to every address of the machine, any literal address is one of ours: rebinding needs
        a name.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in _NAMES or name == self.host.lower():
            return True
        return self.host in {"0.0.0.0", "::"} and _is_address(name)


_MAKERS: dict[str, Callable[[Mapping[str, Any]], bytes]] = {
    "page": lambda content: render(content, live=True).encode(),
    "content": lambda content: compact_json(content).encode(),
}


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = 30
    server_version, sys_version = "periodic-gp", ""

    def do_GET(self) -> None:
        if not self.server.knows(self.headers.get("Host", "")):
            return self._say(
                HTTPStatus.FORBIDDEN, "This server answers to this machine's names only."
            )
        kind = {"/": "page", "/content.json": "content"}.get(self.path.partition("?")[0])
        if kind is None:
            return self._say(HTTPStatus.NOT_FOUND, "There is only / and /content.json here.")
        try:
            body = self.server.body(kind)
        except Exception as error:  # a store half written: the page asks again in two seconds
            return self._say(HTTPStatus.SERVICE_UNAVAILABLE, f"No content at the moment: {error}")
        return self._send(HTTPStatus.OK, body, _HTML if kind == "page" else _JSON)

    do_HEAD = do_GET

    def _refuse(self) -> None:
        self._say(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD.")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, f"{text}\n".encode(), _TEXT)

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        if status is HTTPStatus.OK and self.headers.get("If-None-Match") == tag:
            status, body = HTTPStatus.NOT_MODIFIED, b""
        self.send_response(status)
        for name, value in _headers(kind, tag).items():
            self.send_header(name, value)
        if status is not HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Not a line every two seconds."""


def _headers(kind: str, tag: str) -> dict[str, str]:
    return {
        "Content-Type": kind,
        "ETag": tag,
        "Cache-Control": "no-cache",
        "Content-Security-Policy": f"{policy(live=True)}; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

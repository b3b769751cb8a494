"""Small server of a live page, for this machine.

It answers requests for a name of this machine: a website that points a name of its own at this
address (DNS rebinding) gets an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evaluation.errors import UserError
from evaluation.page.content import progress_content, store_content
from evaluation.page.html import PLOTLY, compact_json, plotly_source, policy, render
from evaluation.results import Results
from evaluation.store import Store

SHARE_OF_TIME = 0.2
"""Largest share of the time that is spent on content while a sweep needs the cores."""
TYPES = {"/": "text/html", "/content.json": "application/json", f"/{PLOTLY}": "text/javascript"}
"""Paths that the server answers, and their media types."""
_NAMES = {"localhost", "127.0.0.1", "::1"}
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class ServeError(UserError):
    """The server cannot start."""


class LiveStore:
    """Content of the page of a store that a sweep may be filling.

    Args:
        path: The store.
        sweep: Name or number of its sweep; the last one by default.
    """

    def __init__(self, path: Path, sweep: str | int | None = None) -> None:
        self._path, self._sweep = path, sweep
        self._content: dict[str, Any] = {}
        self._seen: tuple[Any, ...] | None = None
        self._next = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> dict[str, Any]:
        """Return the content; the same object as before if no run has finished."""
        with self._lock:
            start = time.monotonic()
            if start >= self._next:
                self._refresh()
                took = time.monotonic() - start
                self._next = time.monotonic() + took / SHARE_OF_TIME
            return self._content

    def _refresh(self) -> None:
        with Store(self._path, create=False) as store:
            results = Results(store.source(store.find(self._sweep).id))
            progress = progress_content(results)
            # A failed run that was tried again counts as done before and after.
            seen = (results.sweep.id, results.sweep.hash, progress["done"], progress["failed"])
            if seen != self._seen:
                self._content, self._seen = store_content(results), seen


class PageServer(ThreadingHTTPServer):
    """Server that listens already; ``serve_forever`` answers until ``shutdown``.

    Args:
        content: Returns the content of the page, the same object while nothing has changed.
        host: Address to listen on.
        port: Port to listen on; 0 for any that is free.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(
        self, content: Callable[[], Mapping[str, Any]], *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._host, self._content, self._lock = host, content, threading.Lock()
        self._seen: Mapping[str, Any] | None = None
        self._bodies: dict[str, bytes] = {}
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        if not host:
            raise ServeError(
                "the address to listen on is empty: give 127.0.0.1 for this machine alone, or "
                "0.0.0.0 for other machines, too"
            )
        if not 0 <= port <= 65535:
            raise ServeError(f"a port is a number from 0 to 65535, got {port}")
        try:
            super().__init__((host, port), _Handler)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ServeError(
                f"cannot listen on port {port} of {host}: {reason.lower()}; try another port, or "
                "0 for any that is free"
            ) from error

    @property
    def url(self) -> str:
        """Address of the page on this machine."""
        here = _EVERYWHERE.get(self._host, self._host)
        return f"http://{f'[{here}]' if ':' in here else here}:{self.server_port}/"

    def knows(self, host: str) -> bool:
        """Return whether a Host header names this machine.

        A server that listens on all addresses takes any literal address: rebinding needs a name.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in _NAMES or name == self._host.lower():
            return True
        return self._host in _EVERYWHERE and _is_address(name)

    def body(self, path: str) -> bytes:
        """Return the page, or its content as JSON."""
        with self._lock:
            content = self._content()
            if content is not self._seen:
                self._seen, self._bodies = content, {}
            if path not in self._bodies:
                text = render(content, live=True) if path == "/" else compact_json(content)
                self._bodies[path] = text.encode()
            return self._bodies[path]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = 30
    server_version, sys_version = "periodic-gp", ""

    def do_GET(self) -> None:
        hosts = self.headers.get_all("Host") or [""]
        path = urlsplit(self.path).path
        if not all(map(self.server.knows, hosts)):
            self._send(403, b"This server answers to names of this machine only.\n")
        elif path not in TYPES:
            self._send(404, b"There is only / and /content.json here.\n")
        else:
            try:
                body = plotly_source() if path == f"/{PLOTLY}" else self.server.body(path)
            except Exception as error:  # such as a store that is gone: the page asks again
                self._send(503, f"No content at the moment: {error}\n".encode())
                return
            tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            same = self.headers.get("If-None-Match") == tag
            self._send(304 if same else 200, b"" if same else body, TYPES[path], tag)

    do_HEAD = do_GET

    def _send(self, status: int, body: bytes, kind: str = "text/plain", tag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Security-Policy", f"{policy(live=True)}; frame-ancestors 'none'")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def serve(
    content: Callable[[], Mapping[str, Any]],
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a page until interrupted.

    Args:
        content: Returns the content of the page, the same object while nothing has changed.
        host: Address to listen on; any but this machine's own lets other machines read the page.
        port: Port to listen on; 0 for any that is free.
        on_ready: Called with the address of the page.
    """
    with PageServer(content, host=host, port=port) as server:
        if on_ready is not None:
            on_ready(server.url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

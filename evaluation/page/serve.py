"""Small server of a live page, for this machine.

It answers requests for a name of this machine: a website that points a name of its own at this
address (DNS rebinding) gets an error.
"""

from __future__ import annotations

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
EVERYWHERE = "0.0.0.0"
"""Host that stands for all addresses of this machine."""


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
        content: Returns the content of the page.
        host: Address to listen on.
        port: Port to listen on; 0 for any that is free.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(
        self, content: Callable[[], Mapping[str, Any]], *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.content, self._host = content, host
        try:
            super().__init__((host, port), _Handler)
        except (OSError, UnicodeError, OverflowError) as error:
            raise ServeError(
                f"cannot listen on port {port} of {host}: {error}; try another port, or 0 for any "
                "that is free"
            ) from error

    @property
    def url(self) -> str:
        """Address of the page on this machine."""
        name = "127.0.0.1" if self._host == EVERYWHERE else self._host
        return f"http://{name}:{self.server_port}/"

    def knows(self, host: str) -> bool:
        """Return whether a Host header names this machine.

        A server that listens on all addresses takes any literal one: rebinding needs a name.
        """
        name = host.rpartition(":")[0] or host
        if self._host == EVERYWHERE and name.replace(".", "").isdigit():
            return True
        return name in ("localhost", "127.0.0.1", self._host)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = 30
    server_version, sys_version = "periodic-gp", ""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if not self.server.knows(self.headers.get("Host") or ""):
            self._send(403, b"This server answers to names of this machine only.\n")
        elif path not in TYPES:
            self._send(404, b"There is only / and /content.json here.\n")
        else:
            try:
                self._send(200, self._body(path), TYPES[path])
            except Exception as error:  # such as a store that is gone: the page asks again
                self._send(503, f"No content at the moment: {error}\n".encode())

    def _body(self, path: str) -> bytes:
        if path == f"/{PLOTLY}":
            return plotly_source()
        content = self.server.content()
        return (render(content, live=True) if path == "/" else compact_json(content)).encode()

    def _send(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-cache",
            "Content-Security-Policy": f"{policy(live=True)}; frame-ancestors 'none'",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

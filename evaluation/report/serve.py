"""The page, live: a small server for one's own machine.

It answers whoever asks by a name of this machine. A site elsewhere that points a name of its own at
this address (DNS rebinding) is turned away.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from evaluation.errors import UserError

Content = Callable[[], Mapping[str, Any]]

MAX_CLIENTS_WAITING = 1024
"""Connections that the system holds until they are answered."""
_NAMES = {"localhost", "127.0.0.1", "::1"}
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class ServeError(UserError):
    """The server cannot start; the message says why in one sentence."""


def serve(
    content: Content,
    *,
    progress: Content | None = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until interrupted.

    Args:
        content: The content of the page (see ``render``). It is asked at every request and returns
            the same object again as long as nothing has changed.
        progress: The part of the content that says how far a sweep is, at hand more quickly.
        host: Address to listen on; anything but this machine's own lets others read along.
        port: Port to listen on; 0 for any that is free.
        on_ready: Called with the address of the page as soon as it can be opened.
    """
    with PageServer(content, progress=progress, host=host, port=port) as server:
        if on_ready is not None:
            on_ready(server.url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


class PageServer:
    """A server that listens already; ``serve_forever`` answers, ``shutdown`` ends that."""

    def __init__(
        self,
        content: Content,
        *,
        progress: Content | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        import uvicorn  # here, so that other commands need not wait for it

        from evaluation.report.app import PageApp

        self._host, self._socket = host, _listener(host, port)
        self._idle = threading.Event()
        self._idle.set()
        self.server_port = int(self._socket.getsockname()[1])
        app = PageApp(content, progress, knows=self.knows, ending=lambda: self._server.should_exit)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                loop="asyncio",
                log_config=None,
                log_level="critical",
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )

    def __enter__(self) -> PageServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def serve_forever(self) -> None:
        """Answer until ``shutdown`` or an interrupt."""
        self._idle.clear()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._idle.set()

    def shutdown(self) -> None:
        """Let ``serve_forever`` return, and wait for it."""
        self._server.should_exit = True
        self._idle.wait()

    @property
    def url(self) -> str:
        """Where the page can be opened on this machine."""
        here = _EVERYWHERE.get(self._host, self._host)
        return f"http://{f'[{here}]' if ':' in here else here}:{self.server_port}/"

    def knows(self, host: str) -> bool:
        """Whether a Host header names this machine.

        Bound to every address of the machine, any literal address is one of ours: rebinding needs
        a name.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in _NAMES or name == self._host.lower():
            return True
        return self._host in _EVERYWHERE and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _listener(host: str, port: int) -> socket.socket:
    if not host:
        raise ServeError(
            "The address to listen on is empty: say 127.0.0.1 for this machine alone, or 0.0.0.0 "
            "to let others read along."
        )
    if not 0 <= port <= 65535:
        raise ServeError(f"A port is a number from 0 to 65535, not {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=MAX_CLIENTS_WAITING)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ServeError(
            f"Cannot listen on port {port} of {host}: {reason.lower()}; try another port, "
            f"or 0 for any that is free."
        ) from error

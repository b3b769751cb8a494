"""What the server of the page answers, as a web application."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from evaluation.report.page import compact_json, policy, render
from evaluation.report.serve import Content

Result = TypeVar("Result")

NEWS_SECONDS = 0.5
"""Between looks at the store while somebody watches."""


class PageApp:
    """The page, its content, and a stream of news about it (server-sent events).

    Args:
        content: The content of the page.
        progress: The part of it that says how far a sweep is, at hand more quickly.
        knows: Whether a Host header names this machine.
        ending: Whether the server is about to end.
    """

    def __init__(
        self,
        content: Content,
        progress: Content | None,
        *,
        knows: Callable[[str], bool],
        ending: Callable[[], bool],
    ) -> None:
        self._content, self._knows, self._ending = content, knows, ending
        self._seen: Mapping[str, Any] | None = None
        self._bodies: dict[str, bytes] = {}
        self._making = threading.Lock()
        self._news: dict[str, str] = {}
        self._makers = {"content": lambda: _tag(self._body("content"))}
        if progress is not None:
            self._makers["progress"] = lambda: compact_json(progress())
        self._watching = 0
        self._routes = Starlette(
            routes=[
                Route("/", self._page),
                Route("/content.json", self._page),
                Route("/events", self._events),
            ],
            exception_handlers={HTTPException: _refusal},
            lifespan=self._following,
        )
        self._routes.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer whoever asks by a name of this machine."""
        hosts = [
            text.decode("latin-1") for name, text in scope.get("headers", ()) if name == b"host"
        ]
        if scope["type"] == "lifespan" or (hosts and all(map(self._knows, hosts))):
            await self._routes(scope, receive, send)
        else:
            refusal = _text(403, "This server answers to this machine's names only.")
            await refusal(scope, receive, send)

    async def _page(self, request: Request) -> Response:
        """The page or its content."""
        kind, media = {
            "/": ("page", "text/html"),
            "/content.json": ("content", "application/json; charset=utf-8"),
        }[request.url.path]
        try:
            body = await _in_thread(lambda: self._body(kind))
        except Exception as error:  # a store half written: the page asks again
            return _text(503, f"No content at the moment: {error}")
        headers = {**_headers(), "ETag": _tag(body)}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=media)

    def _body(self, kind: str) -> bytes:
        """As bytes, made anew only when there is something new."""
        with self._making:
            content = self._content()
            if content is not self._seen:
                self._seen, self._bodies = content, {}
            if kind not in self._bodies:
                text = compact_json(content) if kind == "content" else render(content, live=True)
                self._bodies[kind] = text.encode()
            return self._bodies[kind]

    async def _events(self, _: Request) -> Response:
        """``progress``: how far it is; ``content``: there is another one, with this tag."""

        async def stream() -> AsyncIterator[str]:
            sent: dict[str, str] = {}
            self._watching += 1
            try:
                yield "retry: 2000\n\n"
                while not self._ending():
                    for kind, news in self._news.items() - sent.items():
                        yield f"event: {kind}\ndata: {news}\n\n"
                        sent[kind] = news
                    await asyncio.sleep(0.1)
            finally:
                self._watching -= 1

        return StreamingResponse(stream(), headers=_headers(), media_type="text/event-stream")

    @contextlib.asynccontextmanager
    async def _following(self, _: object) -> AsyncIterator[None]:
        """Follow the store while the server is up; progress does not wait for the content."""
        tasks = [asyncio.create_task(self._follow(kind)) for kind in self._makers]
        yield
        for task in tasks:
            task.cancel()

    async def _follow(self, kind: str) -> None:
        while True:
            if self._watching:
                with contextlib.suppress(Exception):  # a store half written: next time
                    self._news[kind] = await _in_thread(self._makers[kind])
            await asyncio.sleep(NEWS_SECONDS)


async def _in_thread(function: Callable[[], Result]) -> Result:
    """As ``asyncio.to_thread``, but the program can end while the function is at work."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled under our hands

    def work() -> None:
        try:
            future.set_result(function())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wrap_future(future)


async def _refusal(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    texts = {404: "There is only / and /content.json here.", 405: "Only GET and HEAD."}
    return _text(status, texts.get(status, str(error)))


def _text(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status, _headers())


def _tag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


@cache
def _headers() -> dict[str, str]:
    return {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": f"{policy(live=True)}; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "Server": "periodic-gp",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }

"""The page as text, and its server: nothing that a stranger writes is markup or leaves the page."""

import base64
import hashlib
import http.client
import json
import re
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from evaluation.protocol import Protocol
from evaluation.report import ServeError, render, serve, sheet
from evaluation.report.page import _rounded, json_for_script
from evaluation.report.serve import PageServer
from evaluation.specs import WorldSpec
from tests.test_evaluation.page_content import HOSTILE, content


class Parsed(HTMLParser):
    """Elements with their attributes and the text of scripts, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script" and self.cdata_elem == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        else:
            self.texts.append(data.strip())

    def meta(self, name: str) -> str:
        return next(
            a["content"] or ""
            for tag, a in self.elements
            if tag == "meta" and name in (a.get("name"), a.get("http-equiv"))
        )


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    made = content(agents=8, envs=3, steps=20, hostile=True)
    for name in ("title", "subtitle"):
        made[name] = HOSTILE[1]
    made["facts"].append([HOSTILE[0], HOSTILE[1]])
    made["notes"].append(HOSTILE[1])
    made["boards"][0]["title"] = made["boards"][0]["note"] = HOSTILE[1]
    return made


@pytest.fixture(scope="module")
def page(hostile: dict[str, Any]) -> Parsed:
    return Parsed(render(hostile))


def test_hostile_text_is_text(page: Parsed) -> None:
    """Three scripts, ours; no picture, no handler; and the names are there, as text."""
    assert [a.get("type") for a, _ in page.scripts] == ["application/json", "text/plain", None]
    assert not [tag for tag, _ in page.elements if tag in {"img", "iframe", "object", "embed"}]
    assert not [a for _, a in page.elements if any(name.startswith("on") for name in a)]
    for name in HOSTILE[:4]:
        assert name in page.texts


def test_content_comes_back_as_it_went_in(page: Parsed, hostile: dict[str, Any]) -> None:
    attributes, text = page.scripts[0]
    assert attributes["id"] == "content"
    assert json.loads(text) == _rounded(hostile)
    assert not re.search("[<>&\u2028\u2029]", text)


def test_numbers_keep_seven_figures() -> None:
    text = json_for_script({"x": [0.123456789, 123456.789, -1e-9, 7, None, True]})
    assert text == '{"x":[0.1234568,123456.8,-1e-09,7,null,true]}'


def test_numbers_that_are_no_json_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_for_script({"x": float("nan")})


@pytest.mark.parametrize("live", [False, True])
def test_only_our_scripts_run(live: bool) -> None:
    page = Parsed(render(content(agents=2, envs=1, steps=5), live=live))
    policy = dict(part.split(" ", 1) for part in page.meta("Content-Security-Policy").split("; "))
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for attributes, text in page.scripts
        if attributes.get("id") != "content"
    }
    assert set(policy["script-src"].split()) == hashes
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["connect-src"] == ("'self'" if live else "'none'")
    assert policy["img-src"] == "data:"
    tags = [(tag, a.get("http-equiv")) for tag, a in page.elements]
    assert tags.index(("meta", "Content-Security-Policy")) < tags.index(("script", None))


def test_nothing_is_fetched(page: Parsed) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    style = "".join(page.texts)
    assert "@import" not in style
    assert not re.search(r"url\((?!['\"]?(data:|#))", style)


def test_empty_pages_are_pages() -> None:
    made = content(agents=0, envs=2, steps=5)
    assert made["boards"][2]["rows"] == []
    assert "periodic-gp leaderboard" in Parsed(render(made)).texts
    assert Parsed(render({**made, "boards": []})).scripts


# --- the server


class Source:
    """Content that changes when a test says so."""

    def __init__(self) -> None:
        self.now = content(agents=2, envs=1, steps=5)

    def __call__(self) -> dict[str, Any]:
        return self.now


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def server(source: Source) -> Iterator[PageServer]:
    with PageServer(source) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> tuple[Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=names)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_content_is_served_anew_when_it_changes(server: PageServer, source: Source) -> None:
    first, body = ask(server, "/content.json")
    assert first.status == 200
    assert json.loads(body) == _rounded(source.now)
    tag = first.headers["ETag"]
    assert ask(server, "/content.json", If_None_Match=tag)[0].status == 304
    source.now = {**source.now, "subtitle": "later"}
    second, body = ask(server, "/content.json?x=1", If_None_Match=tag)
    assert second.status == 200
    assert json.loads(body)["subtitle"] == "later"


def test_the_page_is_served_live(server: PageServer) -> None:
    answer, body = ask(server, "/")
    assert answer.status == 200
    assert b'<html lang="en" data-live>' in body
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    head, nothing = ask(server, "/", "HEAD")
    assert nothing == b""
    assert head.headers["Content-Length"] == str(len(body))


@pytest.mark.parametrize("path", ["/x", "/../etc/passwd", "/content.json/"])
def test_there_is_nothing_else(server: PageServer, path: str) -> None:
    assert ask(server, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_it_only_gives(server: PageServer, method: str) -> None:
    assert ask(server, "/content.json", method)[0].status == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:80", 200),
        ("127.0.0.1", 200),
        ("[::1]:8765", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost@evil.example", 403),
        ("192.168.0.7", 403),
        ("[", 403),
        ("", 403),
    ],
)
def test_names_of_other_machines_are_turned_away(
    server: PageServer, host: str, status: int
) -> None:
    assert ask(server, "/content.json", Host=host)[0].status == status


def test_a_store_in_trouble_is_said_and_survived(server: PageServer, source: Source) -> None:
    good, source.now = source.now, {"x": float("inf")}
    answer, body = ask(server, "/content.json")
    assert answer.status == 503
    assert b"No content at the moment" in body
    source.now = good
    assert ask(server, "/content.json")[0].status == 200


def test_a_taken_port_is_one_sentence(server: PageServer, source: Source) -> None:
    with pytest.raises(ServeError, match=rf"Cannot listen on port {server.server_port} .*in use"):
        PageServer(source, port=server.server_port)
    with pytest.raises(ServeError, match="from 0 to 65535"):
        PageServer(source, port=70000)


def test_serving_says_where_and_ends_with_an_interrupt(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PageServer, "serve_forever", interrupted)
    said: list[str] = []
    serve(source, port=0, on_ready=said.append)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", said[0])


def test_bound_everywhere_addresses_are_ours_but_names_are_not(source: Source) -> None:
    with PageServer(source, host="0.0.0.0") as server:
        assert server.knows("192.168.0.7:1")
        assert not server.knows("evil.example")
        assert server.url == f"http://127.0.0.1:{server.server_port}/"


# --- the pictures of worlds


def stored_protocol(horizon: int | None) -> tuple[Protocol, Any]:
    envs = ["PeriodicGP-Contextual-v0", "PeriodicGP-SyntheticDiscrete-v0:horizon=30"]
    envs += ["PeriodicGP-MadridSim-v0"]
    protocol = Protocol.from_dict(
        {"envs": envs, "agents": ["fixed"], "seeds": "3:5", "horizon": horizon}
    )
    return protocol, SimpleNamespace(sweep=SimpleNamespace(protocol=protocol.to_dict()))


@pytest.mark.parametrize("horizon", [None, 60])
def test_pictures_are_of_the_judged_worlds(
    horizon: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []

    def figure(title: str, setup: Any, episode: Any) -> Any:
        drawn.append((setup, episode))
        return Figure(figsize=(1.0, 1.0))

    monkeypatch.setattr(sheet, "world_figure", figure)
    protocol, results = stored_protocol(horizon)
    for entry in protocol.envs:
        found = sheet.Pictures().of(results, entry.group)
        assert found.about
        assert found.light
        assert found.dark
        assert found.dark != found.light
        env = WorldSpec(entry.spec.env_id, protocol.arguments(entry)).make()
        env.reset(seed=3)
        assert env.episode is not None
        setup, episode = drawn.pop()
        assert setup.horizon == env.horizon
        arms = env.public.n_actions
        actions = np.linspace(-1, 1, 5)[:, None] if arms is None else np.arange(arms)
        for t in (0, env.horizon - 1):
            shown, judged = (e.process.mean(actions, t) for e in (episode, env.episode))
            np.testing.assert_array_equal(shown, judged)


def test_a_picture_is_made_once_for_each_length(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def drawn(stored: Any, entry: Any, seed: int) -> tuple[str, None]:
        made.append(sheet.judged_world(stored, entry).arguments["horizon"])
        return "", None

    monkeypatch.setattr(sheet, "_drawn", drawn)
    pictures = sheet.Pictures()
    for horizon in (60, 80, 60):
        pictures.of(stored_protocol(horizon)[1], "PeriodicGP-Contextual-v0")
    assert made == [60, 80]

"""The page as HTML: text of users is never markup, and no other file is loaded."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from evaluation.page import content as page_content
from evaluation.page import html, render, write_page
from evaluation.page.html import PLOTLY, PageError, json_for_script, plotly_source
from evaluation.protocol import Protocol
from evaluation.specs import WorldSpec, canonical_json
from tests.errors import raises
from tests.test_evaluation.page_content import HOSTILE, content


class Parsed(HTMLParser):
    """Elements with their attributes and the text of scripts, as a browser sees them."""

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


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    made = content(agents=8, envs=3, steps=20, hostile=True)
    made["boards"][0]["title"] = HOSTILE[1]
    texts = {name: [HOSTILE[1]] for name in ("notes", "remarks")}
    return {**made, **texts, "title": HOSTILE[1], "subtitle": HOSTILE[1], "facts": [HOSTILE[:2]]}


@pytest.fixture(scope="module")
def page(hostile: dict[str, Any]) -> Parsed:
    return Parsed(render(hostile))


def test_page_shows_hostile_text_as_text(page: Parsed) -> None:
    assert [a.get("src") or a.get("type") for a, _ in page.scripts] == [
        PLOTLY,
        "application/json",
        None,
    ]
    assert not [tag for tag, _ in page.elements if tag in {"img", "iframe", "object", "embed"}]
    assert not [a for _, a in page.elements if any(name.startswith("on") for name in a)]
    assert set(HOSTILE[:4]) <= set(page.texts)


def test_page_holds_its_content_as_json(page: Parsed, hostile: dict[str, Any]) -> None:
    attributes, text = page.scripts[1]
    assert attributes["id"] == "content"
    assert json.loads(text) == json.loads(json.dumps(hostile))
    assert not re.search("[<>&\u2028\u2029]", text)


def test_page_rejects_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_for_script({"x": float("nan")})


def test_policy_allows_own_scripts_only() -> None:
    page = Parsed(render(content(agents=2, envs=1, steps=5)))
    metas = [a for _, a in page.elements if "Policy" in (a.get("http-equiv") or "")]
    policy = dict(part.split(" ", 1) for part in str(metas[0]["content"]).split("; "))
    script = page.scripts[-1][1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["script-src"].split() == [f"'sha256-{digest}'", "'self'", "file:"]
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "connect-src" not in policy  # none, by default-src
    assert policy["img-src"] == "data:"


def test_page_loads_nothing_but_plotly(page: Parsed) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:", PLOTLY)), (tag, name, value)
    assert not re.search(r"@import|url\(", "".join(page.texts))


def test_script_writes_text_nodes_only() -> None:
    script = (Path(html.__file__).parent / "page.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)


def test_page_without_boards_or_rows() -> None:
    made = content(agents=0, envs=2, steps=5)
    assert made["boards"][2]["rows"] == []
    assert "periodic-gp leaderboard" in Parsed(render(made)).texts
    assert Parsed(render({**made, "boards": []})).scripts


def test_write_page_has_plotly_once_per_folder(tmp_path: Path) -> None:
    made = content(agents=2, envs=1, steps=5)
    (tmp_path / PLOTLY).write_text("an older one")
    for name in ("one.html", "two.html"):
        assert write_page(tmp_path / name, made).stat().st_size < 200_000
    assert (tmp_path / PLOTLY).read_bytes() == plotly_source()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", PLOTLY, "two.html"]
    for unwritable in (tmp_path, tmp_path / "absent" / "x.html"):
        with raises(PageError, "cannot-write"):
            write_page(unwritable, made)


# Pictures of worlds


@pytest.mark.parametrize("horizon", [None, 60])
def test_picture_shows_the_judged_world(
    horizon: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []

    def figure(title: str, setup: Any, episode: Any) -> Any:
        drawn.append((setup, episode))
        return Figure(figsize=(1.0, 1.0))

    monkeypatch.setattr(page_content, "world_figure", figure)
    envs = ["PeriodicGP-Contextual-v0", "PeriodicGP-SyntheticDiscrete-v0:horizon=30"]
    table = {"envs": envs, "agents": ["fixed"], "seeds": "3:5", "horizon": horizon}
    protocol = Protocol.from_dict(table)
    results: Any = SimpleNamespace(sweep=SimpleNamespace(protocol=protocol.to_dict()))
    for entry in protocol.envs:
        world = page_content.picture(results, entry.group)
        assert world["about"]
        assert str(world["picture"]).startswith("data:image/png;base64,")
        env = WorldSpec(entry.spec.env_id, protocol.arguments(entry)).make()
        env.reset(seed=3)
        (setup, episode) = drawn.pop()
        assert drawn == []
        assert setup.horizon == env.horizon
        actions = np.linspace(-1, 1, 5)[:, None] if env.public.n_actions is None else np.arange(5)
        pictured, judged = (each.process.mean(actions, 0) for each in (episode, env.episode))
        np.testing.assert_array_equal(pictured, judged)


def test_page_rounds_numbers() -> None:
    assert page_content.numbers([0.123456789, 123456.789, float("nan")]) == [
        0.1234568,
        123456.8,
        None,
    ]
    assert canonical_json(page_content.number(None)) == "null"

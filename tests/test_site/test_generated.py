"""Pages that are generated from the code are complete."""

import inspect
import re
from pathlib import Path

import pytest

import periodic_envs
from agents.registry import BUILT_IN, find_class
from periodic_envs.worlds.ride_share import RideShare
from tests.test_site.conftest import ROOT

from site_pages import agent_pages, api, command_line, environments, kernels  # isort: skip
from site_pages.regrets import of_zoo, ranks  # isort: skip
from site_pages.repository import ADDRESS, source_link  # isort: skip
from site_pages.settings import described_settings, named_settings  # isort: skip


def test_agent_pages_are_complete() -> None:
    entries = {one.name: one for one in agent_pages.agent_entries()}
    assert set(entries) == set(BUILT_IN)
    index = agent_pages.agents_index(list(entries.values()))
    zoo = of_zoo()
    for one in entries.values():
        assert f"[{one.name}]({one.name}.md)" in index
        page = agent_pages.agent_page(one, zoo)
        headings = set(re.findall(r"^## (.*)$", page, re.MULTILINE))
        assert {"Pseudo-code", "Ranks"} <= headings, one.name
        assert "Deviations from the paper" in headings or one.family == "baselines", one.name
        assert not re.search(r"\[@|:class:", page), one.name


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_agent_pages_describe_every_setting(name: str) -> None:
    cls = find_class(name)
    described = described_settings(cls)
    assert [setting for setting in named_settings(cls) if not described.get(setting)] == []


def test_ranks_exclude_references_and_variants() -> None:
    zoo = {"W": {"oracle": 0.0, "a": 0.2, "a:x=1": 0.1, "b": 0.3, "best-fixed": 0.25}}
    assert [ranks(zoo, name) for name in "abc"] == [[("W", 1, 2, 0.2)], [("W", 2, 2, 0.3)], []]


def test_environment_pages_are_complete(tmp_path: Path) -> None:
    worlds = {one.env_id: one for one in environments.environments()}
    assert set(worlds) == set(periodic_envs.ids())
    index = environments.environments_index(list(worlds.values()))
    assert all(f"[{one.env_id}]({one.slug}.md)" in index for one in worlds.values())
    page = environments.environment_page(worlds["PeriodicGP-RideShare-v0"], of_zoo(), tmp_path)
    for name, parameter in inspect.signature(RideShare).parameters.items():
        assert f"| `{name}` | `{parameter.default!r}` |" in page
    assert "| `horizon` | `336` |" in page  # set by the id
    assert "`Discrete(12)`" in page
    assert re.search(r"\| `auto-gp-ucb` \| 0\.\d\d \|", page)


def test_kernels_page_is_complete_and_its_code_runs() -> None:
    names = {cls.__name__ for group in kernels.kernel_classes().values() for cls in group}
    page = kernels.kernels_page()
    assert all(f"### {name}" in page for name in names)
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "kernels.md", "exec"), {})


def test_command_pages_describe_every_option() -> None:
    for name, command in command_line.commands().items():
        page = command_line.command_page(name, command)
        assert "Not described." not in page, name
        for full, leaf in command_line.leaves(name, command):
            assert f"periodic-gp {full}" in page
            options = [option for one in leaf.params if one.name != "help" for option in one.opts]
            assert all(f"`{option}`" in page for option in options if "-" in option), full


@pytest.mark.parametrize("module", api.ORDER)
def test_api_pages_name_what_can_be_imported(module: str) -> None:
    names = api.exported(module)
    imported: dict[str, object] = {}
    exec("\n".join(api.imports(names)), imported)
    assert {name.place.rpartition(".")[2] for name in names} <= set(imported)


def test_api_pages_document_each_name_once() -> None:
    text = "\n".join(api.api_pages().values())
    directives = re.findall(r"^\.\. (?:auto|py:)\w+:: (\S+)", text, re.MULTILINE)
    assert len(directives) == len(set(directives))
    exported = set(periodic_envs.__all__) - {"checks"}
    assert exported <= {name.rpartition(".")[2] for name in directives}


def test_names_link_to_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, "https://e.org/blob/main")
    link = source_link("py", {"module": "agents.base", "fullname": "Problem.period"})
    first, last = map(int, re.findall(r"/agents/base.py#L(\d+)-L(\d+)$", link)[0])
    lines = (ROOT / "agents" / "base.py").read_text().splitlines()[first - 1 : last]
    assert "def period" in "".join(lines)

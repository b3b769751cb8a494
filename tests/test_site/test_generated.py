"""Pages that are made from the code say all of it, and what cannot be said is named."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import periodic_envs
from agents.registry import BUILT_IN, find_class
from tests.test_site.conftest import ROOT

from site_pages import agent_pages, api, command_line, inventories, kernels  # isort: skip
from site_pages.docstrings import agent_text, blocks, for_myst, for_sphinx, listed  # isort: skip
from site_pages.regrets import of_zoo, ranks  # isort: skip
from site_pages.settings import arguments, described_settings, named_settings  # isort: skip
from site_pages.repository import ADDRESS, hash_of, project_pages, rewritten, source_link  # isort: skip


# --- docstrings ----------------------------------------------------------------------------------

DOCSTRING = """A season, and optimism.

    Pseudo-code (Algorithm 1)::

        a <- argmax
        observe |y|

    Reference: [@cai2021periodic], as :class:`agents.base.Problem` has it.

    Free prose with ``a|b`` and a * b.

    Args:
        period: tau, or
            None.
        common: See :class:`GPAgent`.
    """


def test_docstrings_are_taken_apart() -> None:
    text = agent_text(DOCSTRING)
    assert text.summary == "A season, and optimism."
    assert set(text.named) == {"Pseudo-code", "Reference", "Args"}
    assert "observe |y|" in text.named["Pseudo-code"]
    assert text.prose == ("Free prose with ``a|b`` and a * b.",)
    assert arguments(DOCSTRING) == {"period": "tau, or None.", "common": "See :class:`GPAgent`."}
    assert len(list(blocks(DOCSTRING))) == 5


def test_papers_are_cited_and_signs_mean_nothing() -> None:
    assert for_myst("[@a2020b], :class:`x.Y`") == "{cite:t}`a2020b`, `Y`"
    assert for_myst("``a|b`` and a * b, |c|") == r"``a|b`` and a \* b, \|c\|"
    assert for_sphinx("see [@a2020b] for |d|") == r"see :cite:t:`a2020b` for \|d\|"
    assert for_sphinx("    |d| in a block") == "    |d| in a block"
    assert for_myst("see docs/x.md, ``docs/x.md``") == "see {doc}`/x`, ``docs/x.md``"
    assert for_sphinx("see studies/zoo.md") == "see :doc:`/results/zoo`"
    assert listed("the text") == "The text"
    assert listed("gamma = 1") == "gamma = 1"


def test_pages_of_agents_name_no_files_of_the_code() -> None:
    """They say what is meant."""
    found = {
        one.name: f"{one.text.named} {one.text.prose} {described_settings(one.cls)}"
        for one in agent_pages.agent_entries()
    }
    assert [name for name, text in found.items() if re.search(r"\w\.py\b", text)] == []


# --- agents --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def entries() -> dict[str, agent_pages.AgentEntry]:
    return {one.name: one for one in agent_pages.agent_entries()}


def test_every_agent_has_a_page(entries: dict[str, agent_pages.AgentEntry]) -> None:
    assert set(entries) == set(BUILT_IN)
    index = agent_pages.agents_index(list(entries.values()))
    zoo = of_zoo()
    for one in entries.values():
        assert f"[{one.name}]({one.name}.md)" in index
        page = agent_pages.agent_page(one, zoo)
        assert "## Pseudo-code" in page, one.name
        assert "[@" not in page, one.name
        assert ":class:" not in page, one.name
        assert "## Ranks" in page, one.name
        assert "## Deviations from the paper" in page or one.family == "baselines", one.name
    assert set(agent_pages.FAMILIES) <= {one.family for one in entries.values()}


def test_pages_of_agents_say_that_madrid_is_simulated(
    entries: dict[str, agent_pages.AgentEntry],
) -> None:
    zoo = of_zoo()
    pages = {name: agent_pages.agent_page(one, zoo) for name, one in entries.items()}
    of_it = {name: page for name, page in pages.items() if "MadridSim" in page}
    assert len(of_it) > 10
    assert [name for name, page in of_it.items() if "simulated" not in page] == []


def test_pages_say_in_which_tracks_an_agent_can_be(
    entries: dict[str, agent_pages.AgentEntry],
) -> None:
    pages = {name: agent_pages.agent_page(one, {}) for name, one in entries.items()}
    assert "Track: online; pretrained after a training." in pages["ppo"]
    assert '{ name = "ppo", track = "pretrained", training_steps' in pages["ppo"]
    assert "pretrained with the setting `prior`." in pages["auto-gp-ucb"]
    assert "Track: online. Class" in pages["ucb1"]
    assert "Trained beforehand" not in pages["ucb1"]
    assert "| `gamma` | 0; 0.95 with `memory` |" in pages["sac"]
    assert "`ent_coef`" in pages["ppo"]
    assert "`ent_coef`" not in pages["sac"]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_setting_is_described(name: str) -> None:
    cls = find_class(name)
    described = agent_pages.described_settings(cls)
    missing = [s for s in named_settings(cls) if not described.get(s)]
    assert missing == []


def test_ranks_leave_references_and_variants_out() -> None:
    zoo = {"W": {"oracle": 0.0, "a": 0.2, "a:x=1": 0.1, "b": 0.3, "best-fixed": 0.25}}
    assert ranks(zoo, "b") == [("W", 2, 2, 0.3)]
    assert ranks(zoo, "a") == [("W", 1, 2, 0.2)]
    assert ranks(zoo, "c") == []


def test_worlds_without_a_rank_are_named(entries: dict[str, agent_pages.AgentEntry]) -> None:
    zoo = of_zoo()
    page = agent_pages.agent_page(entries["auto-gp-ucb"], zoo)
    assert "11 worlds of [the zoo]" in page
    (without,) = re.findall(r"^No ranks in (.*): the zoo lacks", page, re.MULTILINE)
    assert re.findall(r"PeriodicGP-(\w+)-v0", without) == ["Flights", "Madrid", "Replay", "Shift"]
    page = agent_pages.agent_page(entries["ppo"], zoo)
    assert re.search(r"^None: .*not generic RL.*\.\./results/rl\.md\)\.$", page, re.MULTILINE)


# --- kernels, commands, names --------------------------------------------------------------------


def test_every_kernel_is_on_the_page() -> None:
    names = {cls.__name__ for group in kernels.kernel_classes().values() for cls in group}
    assert set(kernels.FORMULAS) <= names  # a new one is shown by its docstring until it has one
    page = kernels.kernels_page()
    assert "A plane through the origin.\n" in page  # and not its formula a second time, in letters
    assert "Gamma(nu)" not in page
    assert all(f"### {name}" in page for name in names)
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "kernels.md", "exec"), {})


def test_every_command_and_option_is_described() -> None:
    found = command_line.commands()
    for name, command in found.items():
        page = command_line.command_page(name, command)
        for full, one in command_line.leaves(name, command):
            assert f"periodic-gp {full}" in page
            assert one.help, full
            for parameter in one.params:
                if parameter.name != "help":
                    assert all(
                        f"`{option}`" in page or "-" not in option for option in parameter.opts
                    )
        assert "Not described." not in page, name
    assert "`--seed` `SEED` (default `0`)" in command_line.command_page("play", found["play"])


@pytest.mark.parametrize("module", api.ORDER)
def test_what_the_api_says_to_import_is_there(module: str) -> None:
    names = api.exported(module)
    found: dict[str, object] = {}
    exec("\n".join(api.imports(names)), found)
    assert {name.place.rpartition(".")[2] for name in names} <= set(found)


def test_the_api_documents_each_name_once() -> None:
    pages = api.api_pages()
    directives = re.findall(
        r"^\.\. (?:auto|py:)\w+:: (\S+)", "\n".join(pages.values()), re.MULTILINE
    )
    assert len(directives) == len(set(directives))
    for name in (
        "agents.base.Agent",
        "evaluation.runner.run",
        "agents.testing.AgentContract",
    ):
        assert name in directives
    assert "periodic_envs.checks.whole" in directives
    if find_spec("stable_baselines3"):
        assert "agents.rl.vec_env.BatchEnv" in directives
    exported = set(periodic_envs.__all__) - {"checks"}
    assert exported <= {name.rpartition(".")[2] for name in directives}


# --- the repository ------------------------------------------------------------------------------


def test_links_to_files_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "shift.md"
    monkeypatch.delenv(ADDRESS, raising=False)
    same = "[z](zoo.md#y) [w](https://e.org/a) ![i](a.png)"
    text = f"[a](../agents/auto) [s](../SECURITY.md#x) {same}"
    assert rewritten(text, page) == f"a (`agents/auto`) [s](project/security.md#x) {same}"
    assert rewritten("| public seeds [95 %] |", page) == "| public seeds [95\u00a0%] |"
    fenced = "```sh\n[a](../agents/auto) 95 %\n```\n"
    assert rewritten(fenced, page) == fenced
    monkeypatch.setenv(ADDRESS, "https://e.org/blob/main/")
    assert rewritten("[a](../agents/auto)", page) == "[a](https://e.org/blob/main/agents/auto)"


def test_names_link_to_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, "https://e.org/blob/main")
    link = source_link("py", {"module": "agents.base", "fullname": "Problem.period"})
    assert link is not None
    first, last = map(int, re.findall(r"/agents/base.py#L(\d+)-L(\d+)$", link)[0])
    lines = (ROOT / "agents" / "base.py").read_text().splitlines()[first - 1 : last]
    assert "def period" in "".join(lines)
    assert source_link("py", {"module": "agents.base", "fullname": "np.ndarray"}) is None
    assert source_link("py", {"module": "agents", "fullname": "DISTRIBUTION"}) is None


def test_files_beside_docs_become_pages() -> None:
    pages = project_pages()
    files = {"project/contributing.md", "project/changelog.md", "project/security.md"}
    studies = {f"results/{path.name}" for path in (ROOT / "studies").glob("*.md")}
    assert set(pages) == files | studies
    assert "results/zoo.md" in studies
    assert "](contributing.md#versions)" in pages["project/changelog.md"]


def test_inventories_that_cannot_be_fetched_stop_nothing(tmp_path: Path) -> None:
    """A build with warnings as errors, of one page and a project whose server does not answer."""
    build = pytest.importorskip("sphinx.cmd.build", reason="the extra docs is not installed")
    (tmp_path / "index.rst").write_text("Title\n=====\n\nA page.\n")
    found = inventories.mapping(tmp_path / "cache", {"nobody": "http://127.0.0.1:9"})
    names = {"extensions": ["sphinx.ext.intersphinx"], "intersphinx_mapping": found}
    (tmp_path / "conf.py").write_text("".join(f"{k} = {v!r}\n" for k, v in names.items()))
    out = str(tmp_path / "out")
    assert build.build_main(["-q", "-W", "-b", "dummy", str(tmp_path), out]) == 0


def test_formulas_are_elements_of_a_page() -> None:
    pytest.importorskip("docutils", reason="the extra docs is not installed")
    from docutils.utils.math import MathError
    from site_pages.mathml import mathml

    text = mathml(r"\exp\Big(-\frac{2}{\ell^2}\Big) \dots", block=True)
    assert text.startswith("<math")
    assert "<mfrac>" in text
    assert "Big" not in text
    with pytest.raises(MathError):
        mathml(r"\nosuchcommand{x}", block=False)


def test_other_code_has_another_hash(tmp_path: Path) -> None:
    """Outputs of notebooks are kept by it, so that none is of older code."""
    (tmp_path / "code.py").write_text("one = 1")
    before = hash_of(tmp_path)
    assert hash_of(tmp_path) == before
    (tmp_path / "code.py").write_text("one = 2")
    assert hash_of(tmp_path) != before
    conf = (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert 'f"notebooks-{hash_of(*PACKAGES)}"' in conf

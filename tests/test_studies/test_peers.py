"""The door for other people's agents: examples/peers, found by its entry points."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import agents.registry
from evaluation.protocol import Protocol
from evaluation.specs import MissingPackageError, ProtocolError
from periodic_envs.worlds.shift import Shift
from periodic_envs.worlds.synthetic import Synthetic
from studies.peers import study, widths
from studies.peers.rivals import Rivals, findings, ratio_table, regret_table
from studies.stale import findings as pages
from studies.zoo.bench import Bench
from tests.test_evaluation.conftest import PEERS, peers_entry_points
from tests.test_evaluation.test_cli import call, run

WORLD = "PeriodicGP-SyntheticDiscrete-v0"
CUSTOM = f"{PEERS.parent / 'custom_agent.py'}:EpsilonGreedy"
NEAREST = '''
"""An agent on the package's base class that needs no library."""

import numpy as np
from periodic_gp_peers.peer import Peer


class Nearest(Peer):
    """The mean reward of each arm at contexts like this one."""

    def start(self):
        self.seen = []

    def choose(self, t):
        near = [[r for c, a, r in self.seen if a == arm and c @ self.context(t) > 3.0]
                for arm in range(self.n_arms)]
        return self.best_of(np.array([np.mean(rewards) if rewards else 1.0 for rewards in near]))

    def learn(self, t, arm, reward):
        self.seen.append((self.context(t), arm, reward))
'''


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: the peers, one more, and a river that cannot be imported."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(
        PEERS / "periodic_gp_peers",
        folder / "periodic_gp_peers",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (folder / "nearest.py").write_text(NEAREST)
    (folder / "river.py").write_text("raise ImportError('no river here')")
    offered = {**peers_entry_points(), "nearest": "nearest:Nearest"}
    info = folder / "periodic_gp_peers-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: periodic-gp-peers\nVersion: 0.1\n")
    lines = [f"{name} = {place}" for name, place in offered.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{agents.registry.GROUP}]", *lines]))
    return folder


def at(site: Path) -> dict[str, str]:
    """The environment of a process that has the folder among its packages."""
    known = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(site), known)))}


def test_installed_agents_are_listed_with_what_they_do(site: Path) -> None:
    done = run("agents", **at(site))
    assert done.returncode == 0, done.stderr
    assert "broken" not in done.stdout
    for name in peers_entry_points():
        assert re.search(rf"^{name} +\w", done.stdout, re.MULTILINE), name
    assert re.search(r"^nearest +The mean reward of each arm", done.stdout, re.MULTILINE)


def test_one_that_lacks_its_library_says_so_and_the_others_run(site: Path, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        f'envs = ["{WORLD}:n_actions=5"]\nseeds = "0:1"\nhorizon = 120\n'
        'agents = ["nearest", "river-linucb", "random"]\n'
    )
    done = run("run", "own.toml", "--workers", "1", "--json", cwd=tmp_path, **at(site))
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "Traceback" not in said
    assert "this agent needs river, which cannot be imported (no river here): in the project" in (
        " ".join(said.split())
    )
    rows = json.loads(done.stdout)["tracks"]["online"]["tasks"]
    regrets = {row["agent"]: row["regret"] for row in rows if row["runs"]}
    assert "river-linucb" not in regrets
    assert regrets["nearest"] < 0.7 * regrets["random"]


SENTENCE = (
    "peers has agents of a package that is not installed (there is no agent 'river-linucb'); "
    'in the project: pip install -c constraints.txt -e "examples/peers[all]"'
)


def test_without_the_package_the_protocol_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(agents.registry, "entry_points", lambda group: [])
    with pytest.raises(MissingPackageError, match=re.escape(SENTENCE)):
        Protocol.load("peers")
    for command in (("run", "peers"), ("protocols", "peers")):
        done = call(*command, cwd=tmp_path)
        assert done.returncode == 1
        assert SENTENCE in " ".join(done.stderr.split())
    listed = call("protocols")
    assert listed.returncode == 0
    assert re.search(r"^peers +not installed: pip install .*examples/peers", listed.stdout, re.M)
    assert re.search(r"^standard +11 envs", listed.stdout, re.M)
    with pytest.raises(SystemExit, match=re.escape(SENTENCE)):
        study.main([])


def test_other_mistakes_in_such_a_protocol_are_said_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    lines = f'envs = ["{WORLD}"]\nagents = ["random"]\n'
    path.write_text(f'{lines}seeds = "x"\ninstall = "pip install it"\n')
    with pytest.raises(ProtocolError, match="seeds are written 0:20") as found:
        Protocol.load(path)
    assert "install" not in str(found.value)
    path.write_text(f"{lines}install = 3\n")
    with pytest.raises(ProtocolError, match="install must be a text, got 3"):
        Protocol.load(path)


def test_how_to_install_is_no_part_of_what_makes_results_comparable(tmp_path: Path) -> None:
    path, hashes = tmp_path / "mine.toml", set()
    for install in ("", 'install = "pip install it"\n'):
        path.write_text(f'envs = ["{WORLD}"]\nagents = ["random"]\n{install}')
        hashes.add(Protocol.load(path).hash)
    assert len(hashes) == 1


def test_ci_may_not_skip_the_adapters_of_two_libraries_nor_the_rows_of_agreement() -> None:
    """After all that must not know of the package: it is installed for good."""
    root = PEERS.parents[1]
    steps = (root / ".ci" / "run").read_text().splitlines()
    at = steps.index("make peers-light")
    assert all(any(word in line for line in steps[:at]) for word in ("make test", "make docs"))
    _, _, recipe = (root / "Makefile").read_text().partition("\nLIGHT := ")
    libraries, _, recipe = recipe.partition("\n")
    recipe = recipe.partition("\n\n")[0]
    assert {"river", "mabwiser"} <= set(libraries.split(","))
    assert 'examples/peers[light,test]"' in recipe
    assert recipe.count("PERIODIC_GP_REQUIRE_PEERS=$(LIGHT) $(PYTEST)") == 2


# --- the page ----------------------------------------------------------------------------------


def rivals(theirs: float = 0.2, chosen: float = 0.5) -> Rivals:
    """Eight runs in three worlds, in the last of which one of the agents is not run."""
    names = ["auto-gp-ucb", "random", "theirs", "theirs:alpha=0.1", "others"]
    noise = np.random.default_rng(0).normal(0.0, 0.01, (3, 8, 5))
    means = {
        "Here": [0.3, 1.0, theirs, chosen, 0.9],
        "There": [0.3, 1.0, 0.6, chosen, 0.3],
        "Long": [0.3, 1.0, 0.6, chosen, 0.2],
    }
    shares = {
        world: pd.DataFrame(noise[i] + mean, columns=names)
        for i, (world, mean) in enumerate(means.items())
    }
    shares["Long"] = shares["Long"].drop(columns="others")
    return Rivals(Bench(shares, {}), names[:2], names[2:], ["theirs:alpha=0.1"])


def test_the_page_says_where_a_rival_beats_us() -> None:
    here, there, long, defaults, chosen, gain = findings(rivals())
    assert here.startswith("- Here: `theirs` has the least regret.")
    assert "Clearly better than `auto-gp-ucb`: `theirs`; not told apart from it: none." in here
    assert "Clearly better than `auto-gp-ucb`: none; not told apart from it: `others`." in there
    assert long.startswith("- Long: `auto-gp-ucb` has the least regret. Of other libraries' agents")
    assert defaults.startswith("- Of 5 pairs of a library's agent at its defaults and a world, ")
    assert defaults.endswith(
        "better than `auto-gp-ucb` in 1, clearly worse in 3, " + APART.format(1)
    )
    assert chosen.startswith("- Of 3 pairs of a library's agent with its width chosen and a world")
    assert chosen.endswith("better than `auto-gp-ucb` in 0, clearly worse in 3, " + APART.format(0))
    assert gain == GAIN.format(2, 1)


APART = "and not told apart from it in {}."
GAIN = (
    "- `theirs:alpha=0.1` has clearly less regret than `theirs` in {} of 3 worlds, and clearly "
    "more in {}."
)


def test_the_page_says_the_contrary_of_contrary_results() -> None:
    """The rival is worse at its defaults everywhere, and better with its chosen width."""
    here, *_, defaults, chosen, gain = findings(rivals(theirs=0.8, chosen=0.1))
    assert here.startswith("- Here: `theirs:alpha=0.1` has the least regret.")
    assert "better than `auto-gp-ucb` in 0, clearly worse in 4, " in defaults
    assert "better than `auto-gp-ucb` in 3, clearly worse in 0, " in chosen
    assert gain == GAIN.format(3, 0)


def test_who_is_not_run_somewhere_is_said() -> None:
    assert list(study.left_out(rivals())) == ["`others` takes too long for Long: not run there."]
    ms = dict.fromkeys(("auto-gp-ucb", "random", "theirs", "theirs:alpha=0.1", "others"), 1.0)
    by_name = {line.split("`")[1]: line for line in regret_table(rivals(), ms).splitlines()[2:]}
    assert by_name["others"].endswith("| not run | 1.00 |")
    assert "| width chosen |" in by_name["theirs:alpha=0.1"]
    assert next(
        line for line in ratio_table(rivals()).splitlines() if line.startswith("| `others` ")
    ).endswith("| not run |")


def test_the_number_of_runs_is_said_where_it_is_another_one() -> None:
    found = rivals()
    found.bench.shares["Long"] = found.bench.shares["Long"][:6]  # type: ignore[index]
    assert study.runs_of(found) == "8 runs of each agent in each world, 6 in Long"


@pytest.mark.usefixtures("peers")
def test_linear_libraries_have_a_row_with_the_width_that_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Out of the file of the search, under the names of the libraries."""
    chosen = {"linucb": "linucb:width=0.05", "lints": "lints:width=0.2"}
    monkeypatch.setattr(widths.widths, "chosen", lambda: chosen)
    whole = Protocol.load("peers")
    protocol, added = widths.with_chosen_widths(whole)
    assert added == [
        "linucb:width=0.05",
        "lints:width=0.2",
        "river-linucb:alpha=400.0,beta=400.0",
        "mabwiser-linucb:alpha=0.05",
        "mabwiser-lints:alpha=0.2",
        "bayesianbandits-ucb:alpha=0.5199",
    ]
    assert len(protocol.agents) == len(whole.agents) + len(added)
    monkeypatch.setattr(widths.widths, "chosen", lambda: {"linucb": "linucb", "lints": "lints"})
    assert widths.with_chosen_widths(whole)[1] == ["bayesianbandits-ucb:alpha=0.8413"]


@pytest.mark.usefixtures("peers")
def test_the_page_says_which_widths_and_if_they_are_the_least_of_the_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"seeds": "7:9", "grid": [0.1, 1.0], "chosen": {"linucb": 0.1, "lints": 1.0}}
    (tmp_path / "widths.json").write_text(json.dumps(found))
    monkeypatch.setattr(widths.widths, "CHOSEN", tmp_path / "widths.json")
    words = widths.width_words(Protocol.load("peers"))
    assert (words["seeds"], words["shared"]) == ("7:9", "4")
    assert words["widths"] == (
        "0.1 for `linucb` (the least that was tried), 1 for `lints`, "
        "out of [0.1, 1.0] times the default"
    )


@pytest.mark.usefixtures("peers")
def test_the_protocol_has_long_runs_real_data_and_a_season_that_moves() -> None:
    protocol = Protocol.load("peers")
    assert {entry.group for entry in protocol.envs} >= {
        "Flights, four weeks",
        "RideShare, 2,520 steps",
        "Shift, phase",
    }
    assert sum(entry.group == "Flights, four weeks" for entry in protocol.envs) == 6
    (slow,) = (agent for agent in protocol.agents if agent.envs)
    missing = {entry.label for entry in protocol.envs} - set(slow.envs)
    assert (slow.label, missing) == ("botorch-gp-ucb", {"RideShare, 2,520 steps"})


def test_the_worlds_that_an_agent_of_ours_knows_the_kernel_of_are_those_that_are_named() -> None:
    """The page says that ``time_length_scale=1`` is theirs."""
    assert Synthetic(n_actions=20).time_length_scale == Shift().time_length_scale == 1.0
    assert "SyntheticDiscrete and Shift are" in study.TEXT
    assert "tuned on" not in study.TEXT


def test_the_tables_mark_the_best_and_what_is_like_it() -> None:
    ms = {"auto-gp-ucb": 0.251, "random": 0.0, "theirs": 12.6, "others": 1.0}
    ms["theirs:alpha=0.1"] = 1.0
    lines = regret_table(rivals(), ms).splitlines()
    assert lines[0] == "| agent |  | Here | There | Long | ms a step |"
    by_name = {line.split("`")[1]: line for line in lines[2:]}
    ranked = ["auto-gp-ucb", "theirs", "theirs:alpha=0.1", "others", "random"]
    assert list(by_name) == ranked
    assert re.match(
        r"\| `theirs` \|  \| \*\*0.2\d \[.*\]\*\* \| 0.6\d \[.*\] \| 0.6.* \| 13 \|$",
        by_name["theirs"],
    )
    assert " **=** " in by_name["others"] or "**0.3" in by_name["others"]
    assert "| ours |" in by_name["auto-gp-ucb"]
    assert by_name["auto-gp-ucb"].endswith("| 0.25 |")
    ratios = ratio_table(rivals()).splitlines()
    assert [line.split("`")[1] for line in ratios[2:]] == ranked[1:-1]
    assert re.match(r"\| `theirs` \| 0.6\d \[0.\d\d, 0.\d\d\] \| 2.\d\d \[", ratios[2])


def test_the_page_is_written_and_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    tiny = Protocol.from_dict(
        {
            "name": "peers",
            "envs": [{"id": WORLD, "label": "Tiny", "arguments": {"n_actions": 3, "horizon": 12}}],
            "agents": ["auto-gp-ucb", "random", {"name": CUSTOM, "label": "theirs"}],
            "seeds": "0:5",
        }
    )
    monkeypatch.setattr(Protocol, "load", lambda name: tiny)
    store = ["--store", str(tmp_path / "s.sqlite"), "--workers", "0"]
    study.main(["--docs", str(tmp_path), *store])
    written = (tmp_path / "peers.md").read_text()
    assert "| `theirs` |  |" in written
    assert capsys.readouterr().out.strip() in written
    (page,) = pages(tmp_path)
    assert (page.page, page.state, page.command) == ("peers.md", "fresh", study.COMMAND)


def test_a_run_that_failed_ends_the_study_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = f"{Path(__file__).parents[1] / 'test_evaluation' / 'faulty_agents.py'}:Raises"
    tiny = Protocol.from_dict(
        {"envs": [{"id": WORLD, "arguments": {"horizon": 3}}], "agents": [faulty], "seeds": [0]}
    )
    monkeypatch.setattr(Protocol, "load", lambda name: tiny)
    with pytest.raises(SystemExit, match=r"Raises in .* failed: RuntimeError: a bad day"):
        study.main(["--store", str(tmp_path / "s.sqlite"), "--workers", "0"])

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
from evaluation.protocol.entries import MissingPackageError, ProtocolError
from evaluation.protocol.protocol import Protocol
from evaluation.studies.peers import study
from evaluation.studies.peers.study import Rivals, findings, ratio_table, regret_table
from evaluation.studies.stale import findings as pages
from evaluation.studies.zoo.bench import Bench
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


# --- the page ----------------------------------------------------------------------------------


def rivals() -> Rivals:
    """Eight runs in two worlds: in one a rival is better by a third, in the other twice as bad."""
    noise = np.random.default_rng(0).normal(0.0, 0.01, (2, 8, 4))
    shares = {
        world: pd.DataFrame(noise[i] + means, columns=["auto-gp-ucb", "random", "theirs", "others"])
        for i, (world, means) in enumerate(
            {"Here": [0.3, 1.0, 0.2, 0.9], "There": [0.3, 1.0, 0.6, 0.3]}.items()
        )
    }
    return Rivals(Bench(shares, {}), ["auto-gp-ucb", "random"], ["theirs", "others"])


def test_the_page_says_where_a_rival_beats_us() -> None:
    here, there, together = findings(rivals())
    assert here.startswith("- Here: `theirs` has the least regret.")
    assert "Clearly better than `auto-gp-ucb`: `theirs`; not told apart from it: none." in here
    assert "Clearly better than `auto-gp-ucb`: none; not told apart from it: `others`." in there
    assert together.endswith("clearly better than `auto-gp-ucb` in 1 and clearly worse in 2.")


def test_the_tables_mark_the_best_and_what_is_like_it() -> None:
    ms = {"auto-gp-ucb": 0.251, "random": 0.0, "theirs": 12.6, "others": 1.0}
    lines = regret_table(rivals(), ms).splitlines()
    assert lines[0] == "| agent |  | Here | There | ms a step |"
    by_name = {line.split("`")[1]: line for line in lines[2:]}
    assert list(by_name) == ["auto-gp-ucb", "theirs", "others", "random"]
    assert re.match(
        r"\| `theirs` \|  \| \*\*0.2\d \[.*\]\*\* \| 0.6\d \[.*\] \| 13 \|$", by_name["theirs"]
    )
    assert " **=** " in by_name["others"] or "**0.3" in by_name["others"]
    assert "| ours |" in by_name["auto-gp-ucb"]
    assert by_name["auto-gp-ucb"].endswith("| 0.25 |")
    ratios = ratio_table(rivals()).splitlines()
    assert [line.split("`")[1] for line in ratios[2:]] == ["theirs", "others"]
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
    faulty = f"{Path(__file__).parent / 'faulty_agents.py'}:Raises"
    tiny = Protocol.from_dict(
        {"envs": [{"id": WORLD, "arguments": {"horizon": 3}}], "agents": [faulty], "seeds": [0]}
    )
    monkeypatch.setattr(Protocol, "load", lambda name: tiny)
    with pytest.raises(SystemExit, match=r"Raises in .* failed: RuntimeError: a bad day"):
        study.main(["--store", str(tmp_path / "s.sqlite"), "--workers", "0"])

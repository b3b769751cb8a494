"""``periodic-gp run`` and the commands that read its results."""

import json
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

import evaluation
from evaluation import protocol as protocols
from evaluation.specs import REFERENCES
from evaluation.store import Store
from tests.test_evaluation.stores import PROTOCOL, RUNS, a_record
from tests.test_evaluation.test_cli import call, error_of, run

FAULTY = Path(__file__).with_name("faulty_agents.py")
STEPS = ["agent", "env", "seed", "t", "action", "reward", "regret"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of the smoke protocol."""
    folder = tmp_path_factory.mktemp("sweep")
    result = run("run", "smoke", "--baseline", "gp-ucb", "--workers", "2", cwd=folder)
    assert result.returncode == 0, result.stderr
    (folder / "out.txt").write_text(result.stdout)
    assert "75 of 75 runs" in result.stderr  # plain lines: no terminal
    return folder


def test_run_prints_tables_with_intervals(folder: Path) -> None:
    out = (folder / "out.txt").read_text()
    for text in (
        "PeriodicGP-MadridSim-v0 (online, simulated)",
        "Minus gp-ucb [95 %]",
        "uniform-random",
        "All 3 tasks (online): 0 = oracle, 1 = choosing at random",
    ):
        assert text in out
    assert max(len(line) for line in out.splitlines()) < 200


def test_run_warns_of_simulated_data_once(tmp_path: Path) -> None:
    options = ["--envs", "PeriodicGP-Madrid-v0", "--agents", "random", "--agents", "fixed"]
    result = run("run", "smoke", *options, "--seeds", "0:3", "--workers", "2", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("no measurements are imported") == 1


def test_show_writes_json(folder: Path) -> None:
    result = call("show", "--json", "--baseline", "random", cwd=folder)
    content = json.loads(result.stdout)
    assert content["runs"] == content["finished"] == 75
    rows = content["tracks"]["online"]["tasks"]
    gp = next(r for r in rows if r["agent"] == "gp-ucb" and "Discrete" in r["task"])
    assert gp["regret_low"] < gp["regret"] < gp["regret_high"]
    assert gp["difference"] < 0
    assert {r["agent"] for r in content["tracks"]["online"]["overall"]} >= {"gp-ucb", "random"}


def test_compare_prints_differences(folder: Path) -> None:
    lines = call("compare", "gp-ucb", "uniform-random", cwd=folder).stdout.splitlines()
    assert len(lines) == 4
    assert "5 runs, sign-flip p = " in lines[1]


@pytest.mark.parametrize("kind", ["curves", "phases", "profiles"])
def test_plot_draws(folder: Path, kind: str) -> None:
    result = call("plot", f"{kind}.png", "--kind", kind, cwd=folder)
    assert result.returncode == 0, result.stderr
    with Image.open(folder / f"{kind}.png") as image:
        assert image.size[0] > 500


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_export_writes_steps(folder: Path, suffix: str) -> None:
    result = call("export", f"steps.{suffix}", cwd=folder)
    assert "Wrote 3,600 rows" in result.stdout
    read = pd.read_parquet if suffix == "parquet" else pd.read_csv
    frame = read(folder / f"steps.{suffix}")
    assert list(frame.columns) == STEPS
    one = frame[(frame.agent == "gp-ucb") & (frame.env == "PeriodicGP-Synthetic-v0")]
    assert len(one) == 300
    assert (one.groupby("seed").t.apply(list) == [list(range(60))] * 5).all()
    assert one.action.between(-1, 1).all()
    runs = ["env", "agent", "seed"]
    totals = evaluation.load(folder / "results.sqlite").totals.set_index(runs)["regret"]
    sums = frame.groupby(runs).regret.sum()
    assert sums.to_dict() == pytest.approx(totals[sums.index].to_dict())


def test_protocols_writes_a_valid_file(tmp_path: Path) -> None:
    out = call("protocols").stdout
    assert all(name in out for name in protocols.names())
    smoke = protocols.Protocol.load("smoke")
    text = call("protocols", "smoke").stdout
    assert f"without its agents {smoke.challenge[:12]}" in text
    assert text.startswith(f"# smoke, hash {smoke.hash[:12]}, ")
    (tmp_path / "copied.toml").write_text(text)
    assert protocols.Protocol.load(tmp_path / "copied.toml").hash == smoke.hash
    assert call("protocols", "copied.toml", cwd=tmp_path).stdout.count("# smoke, hash") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "smok"), "there is no protocol 'smok'; did you mean 'smoke'"),
        (("run", "x.toml"), "no such file: 'x.toml'"),
        (("run", "smoke", "--agents", "gp"), "there is no agent 'gp'"),
        (("run", "smoke", "--envs", "PeriodicGP-X-v0"), "there is no environment"),
        (("run", "smoke", "--seeds", "a"), 'seeds must be a text ("0:20"'),
        (("run", "smoke", "--baseline", "nobody"), "there is no baseline 'nobody' in smoke"),
        (("run", "smoke", "--store", "nowhere/s.sqlite"), "cannot open the store"),
        (("show",), "there is no store 'results.sqlite'; make one with: periodic-gp run"),
        (("show", "--store", "text.sqlite"), "damaged or not a store, and is left unchanged"),
        (("export", "x.xlsx"), "the name must end in .parquet or .csv"),
        (("plot", "x.gif"), "a picture's name must end in"),
        (("plot", "x.png", "--kind", "pie"), "--kind must be one of curves, phases, profiles"),
        (("protocols", "nothing"), "there is no protocol 'nothing'"),
    ],
)
def test_commands_report_bad_input(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "text.sqlite").write_text("hello" * 1000)
    assert message in error_of(*arguments, cwd=tmp_path)
    assert (tmp_path / "text.sqlite").read_text() == "hello" * 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "--sweep", "x"), "there is no sweep 'x' in results.sqlite; there are: 1 (smoke)"),
        (("compare", "gp-ucb", "nobody"), "there is no agent 'nobody' here"),
        (("plot", "x.png", "--agents", "gp-ubc"), "no agent 'gp-ubc' here; did you mean 'gp-ucb'"),
        (("export", "nowhere/x.csv"), "Error: cannot write"),
    ],
)
def test_commands_report_unknown_names(folder: Path, arguments: list[str], message: str) -> None:
    assert message in error_of(*arguments, cwd=folder)
    assert not (folder / "x.png").exists()


def test_run_writes_json_when_agents_print(tmp_path: Path) -> None:
    talking = ("--agents", f"{FAULTY}:Talks", "--seeds", "0:1", "--workers", "1", "--json")
    result = run("run", "smoke", *talking, cwd=tmp_path)
    assert json.loads(result.stdout)["runs"] == 6


def test_commands_read_a_sweep_of_failures(tmp_path: Path) -> None:
    failing = ("--agents", f"{FAULTY}:Raises", "--seeds", "0:1", "--workers", "1")
    result = call("run", "smoke", *failing, cwd=tmp_path)
    assert result.returncode == 1
    assert "RuntimeError: a bad day (faulty_agents.py, line" in result.stdout
    assert "Traceback" not in result.stderr + result.stdout
    assert call("show", "--json", cwd=tmp_path).returncode == 0
    assert call("export", "x.csv", cwd=tmp_path).returncode == 0
    for kind in ("curves", "phases", "profiles"):
        assert "to draw" in error_of("plot", "x.png", "--kind", kind, cwd=tmp_path)


@pytest.mark.parametrize("track", ["online", REFERENCES])
def test_commands_read_a_store_with_one_finished_run(tmp_path: Path, track: str) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        store.begin(PROTOCOL, RUNS)
        store.save(a_record(next(run for run in RUNS if run.track == track)))
    for arguments in (
        ("show",),
        ("show", "--json"),
        ("show", "--baseline", "random"),
        ("leaderboard", "build", "--store", "results.sqlite", "--out", "page.html"),
        ("export", "x.csv"),
        ("export", "x.parquet"),
    ):
        result = call(*arguments, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, ""), arguments
    compared = call("compare", "random", "ucb1", cwd=tmp_path).stdout
    assert "no common finished runs" in compared
    exported = pd.read_csv(tmp_path / "x.csv")
    assert list(exported) == STEPS
    assert len(exported) == len(pd.read_parquet(tmp_path / "x.parquet"))
    for kind in ("curves", "phases", "profiles"):
        result = call("plot", "x.png", "--kind", kind, cwd=tmp_path)
        assert result.returncode == 0 or "to draw" in result.stderr

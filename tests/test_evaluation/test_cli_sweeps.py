"""``periodic-gp run`` and the commands that read its results."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.image import imread

import evaluation
from evaluation import protocol as protocols
from evaluation.specs import REFERENCES
from evaluation.store import Store
from tests.console import call, error_of, output_of, run
from tests.test_evaluation.stores import PROTOCOL, RUNS, a_record

FAULTY = Path(__file__).with_name("faulty_agents.py")
STEPS = ["agent", "env", "seed", "t", "action", "reward", "regret"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of the smoke protocol."""
    folder = tmp_path_factory.mktemp("sweep")
    result = run("run", "smoke", "--baseline", "gp-ucb", "--workers", "2", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


def test_show_prints_tables_with_intervals(folder: Path) -> None:
    lines = output_of("show", "--baseline", "gp-ucb", cwd=folder).splitlines()
    rows = [line for line in lines if line.startswith("random  ")]
    assert len(rows) == 4  # three tasks and all of them
    number = r"-?[\d,]+\.\d+"
    for row in rows:
        assert len(re.findall(rf"{number} \[{number}, {number}\]", row)) >= 2
    assert max(map(len, lines)) < 200


def test_run_warns_of_simulated_data_once(tmp_path: Path) -> None:
    options = ["--envs", "PeriodicGP-Madrid-v0", "--agents", "random", "--agents", "fixed"]
    result = run("run", "smoke", *options, "--seeds", "0:3", "--workers", "2", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("no measurements are imported") == 1


def test_show_writes_json(folder: Path) -> None:
    content = json.loads(output_of("show", "--json", "--baseline", "random", cwd=folder))
    assert content["runs"] == content["finished"] == 75
    rows = content["tracks"]["online"]["tasks"]
    gp = next(r for r in rows if r["agent"] == "gp-ucb" and "Discrete" in r["task"])
    assert gp["regret_low"] < gp["regret"] < gp["regret_high"]
    assert gp["difference"] < 0
    assert {r["agent"] for r in content["tracks"]["online"]["overall"]} >= {"gp-ucb", "random"}


def test_compare_prints_differences(folder: Path) -> None:
    _, *tasks = output_of("compare", "gp-ucb", "uniform-random", cwd=folder).splitlines()
    assert [re.findall(r"(\d+) runs", task) for task in tasks] == [["5"]] * 3


@pytest.mark.parametrize("kind", ["curves", "phases", "profiles"])
def test_plot_draws(folder: Path, kind: str) -> None:
    output_of("plot", f"{kind}.png", "--kind", kind, cwd=folder)
    assert imread(folder / f"{kind}.png").shape[1] > 500


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_export_writes_steps(folder: Path, suffix: str) -> None:
    output_of("export", f"steps.{suffix}", cwd=folder)
    read = pd.read_parquet if suffix == "parquet" else pd.read_csv
    frame = read(folder / f"steps.{suffix}")
    assert list(frame.columns) == STEPS
    assert len(frame) == 3600
    one = frame[(frame.agent == "gp-ucb") & (frame.env == "PeriodicGP-Synthetic-v0")]
    assert len(one) == 300
    assert (one.groupby("seed").t.apply(list) == [list(range(60))] * 5).all()
    assert one.action.between(-1, 1).all()
    runs = ["env", "agent", "seed"]
    totals = evaluation.load(folder / "results.sqlite").totals.set_index(runs)["regret"]
    sums = frame.groupby(runs).regret.sum()
    assert sums.to_dict() == pytest.approx(totals[sums.index].to_dict())


def test_protocols_writes_a_valid_file(tmp_path: Path) -> None:
    smoke = protocols.Protocol.load("smoke")
    text = output_of("protocols", "smoke")
    assert re.findall(r"[0-9a-f]{12}", text) == [smoke.hash[:12], smoke.challenge[:12]]
    (tmp_path / "copied.toml").write_text(text)
    assert protocols.Protocol.load(tmp_path / "copied.toml").hash == smoke.hash


def test_protocols_lists_every_name() -> None:
    lines = [line for line in output_of("protocols").splitlines() if line[:1].islower()]
    assert [line.split()[0] for line in lines] == protocols.names()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "smok"), "unknown-protocol"),
        (("run", "x.toml"), "file-not-found"),
        (("run", "smoke", "--agents", "gp"), "unknown-agent"),
        (("run", "smoke", "--envs", "PeriodicGP-X-v0"), "unknown-environment"),
        (("run", "smoke", "--seeds", "a"), "invalid-seeds"),
        (("run", "smoke", "--baseline", "nobody"), "unknown-baseline"),
        (("run", "smoke", "--store", "nowhere/s.sqlite"), "cannot-open"),
        (("show",), "file-not-found"),
        (("show", "--store", "text.sqlite"), "damaged-file"),
        (("export", "x.xlsx"), "unknown-file-type"),
        (("export", "nowhere/x.csv"), "cannot-write"),
        (("plot", "x.gif"), "unknown-file-type"),
        (("plot", "x.png", "--kind", "pie"), "invalid-option"),
        (("protocols", "nothing"), "unknown-protocol"),
    ],
)
def test_commands_report_bad_input(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    (tmp_path / "text.sqlite").write_text("hello" * 1000)
    assert error_of(*arguments, cwd=tmp_path) == code
    assert (tmp_path / "text.sqlite").read_text() == "hello" * 1000


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("show", "--sweep", "x"), "unknown-sweep"),
        (("compare", "gp-ucb", "nobody"), "unknown-agent"),
        (("plot", "x.png", "--agents", "gp-ubc"), "unknown-agent"),
    ],
)
def test_commands_report_unknown_names(folder: Path, arguments: list[str], code: str) -> None:
    assert error_of(*arguments, cwd=folder) == code
    assert not (folder / "x.png").exists()


def test_run_writes_json_when_agents_print(tmp_path: Path) -> None:
    talking = ("--agents", f"{FAULTY}:Talks", "--seeds", "0:1", "--workers", "1", "--json")
    result = run("run", "smoke", *talking, cwd=tmp_path)
    assert json.loads(result.stdout)["runs"] == 6


def test_commands_read_a_sweep_of_failures(tmp_path: Path) -> None:
    failing = ("--agents", f"{FAULTY}:Raises", "--seeds", "0:1", "--workers", "1")
    assert call("run", "smoke", *failing, cwd=tmp_path).returncode == 1
    failures = json.loads(output_of("show", "--json", cwd=tmp_path))["failures"]
    assert ["RuntimeError: a bad day" in one["reason"] for one in failures] == [True] * 3
    output_of("export", "x.csv", cwd=tmp_path)
    for kind in ("curves", "phases", "profiles"):
        code = error_of("plot", "x.png", "--kind", kind, cwd=tmp_path)
        assert code == ("incomplete-runs" if kind == "profiles" else "no-finished-runs")


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
    assert len(output_of("compare", "random", "ucb1", cwd=tmp_path).splitlines()) == 2
    exported = pd.read_csv(tmp_path / "x.csv")
    assert list(exported) == STEPS
    assert len(exported) == len(pd.read_parquet(tmp_path / "x.parquet"))
    for kind in ("curves", "phases", "profiles"):
        result = call("plot", "x.png", "--kind", kind, cwd=tmp_path)
        assert result.returncode == 0 or "-runs]" in result.stderr

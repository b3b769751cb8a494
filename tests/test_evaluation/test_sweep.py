"""Sweeps: equal numbers on every executor, failures of agents, and cached runs."""

import contextlib
import os
import re
import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evaluation
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.runner import run
from evaluation.runs import runs_of
from evaluation.store import Store
from evaluation.workers import execute
from periodic_envs.data.errors import FilledGapsWarning
from tests.console import call
from tests.platforms import linux_only, posix_only

AGENTS = Path(__file__).with_name("faulty_agents.py")
WORLD = "PeriodicGP-SyntheticDiscrete-v0"


def protocol(*agents: str, seeds: str = "0:2", seconds: float = 60.0, **change) -> Protocol:
    named = [f"{AGENTS}:{agent}" if agent[0].isupper() else agent for agent in agents]
    table = {"envs": [WORLD], "agents": named, "seeds": seeds, "horizon": 20}
    limits = {"seconds": seconds, "memory_mb": 400}
    return Protocol.from_dict({**table, "limits": limits, **change})


def parent_of(pid: str) -> str:
    return (Path("/proc") / pid / "stat").read_text().rpartition(")")[2].split()[1]


def worker_pids() -> list[int]:
    """The pool's workers: children of the fork server, which is a child of ours."""
    pids = []
    for pid in (folder.name for folder in Path("/proc").iterdir() if folder.name.isdecimal()):
        with contextlib.suppress(OSError):  # gone in the meantime
            server = parent_of(pid)
            command = (Path("/proc") / server / "cmdline").read_text()
            if "forkserver" in command and parent_of(server) == str(os.getpid()):
                pids.append(int(pid))
    return pids


def reasons(results: Results) -> dict[str, str]:
    return {run.agent.rpartition(":")[2]: run.reason or "" for run in results.failures}


@pytest.mark.parametrize("where", [{"workers": 3}, {"dask": "local", "workers": 2}])
def test_sweep_gives_the_same_numbers_on_every_executor(where: dict) -> None:
    agents, order = ("random", "gp-ucb", "gp-thompson", "Good"), ["env", "agent", "seed", "t"]
    steps = [
        run(protocol(*agents), **each).steps.sort_values(order, ignore_index=True)
        for each in ({"workers": 0}, where)
    ]
    pd.testing.assert_frame_equal(*steps)


@linux_only
def test_sweep_records_failures_of_agents() -> None:
    bad = {
        "Raises": r"RuntimeError: a bad day \(faulty_agents.py, line \d+\)",
        "RaisesInInit": "RuntimeError: never born",
        "Hangs": ".* 3 seconds",
        "HangsStubbornly": ".* 3 seconds",
        "HangsInC": ".* 3 seconds",
        "Leaves": "SystemExit: enough",
        "RaisesUnprintable": r"RuntimeError: bad \? .\[31m letters x+$",
        "Eats": ".* 400 M",
        "Exits": ".*exit code 3",
        "ReturnsNaN": "InvalidAction: .* nan",
        "WrongType": "InvalidAction: .* 'left'",
    }
    results = run(protocol("Good", *bad, "random", seeds="0:1", seconds=3.0), workers=2)
    failures = reasons(results)
    assert failures.keys() == bad.keys()
    for agent, pattern in bad.items():
        assert re.match(pattern, failures[agent])
    assert set(results.totals["agent"]) >= {"random", f"{AGENTS}:Good"}


def test_sweep_survives_system_exit_in_process() -> None:
    results = run(protocol("Leaves", seeds="0:1"), workers=0)
    assert reasons(results)["Leaves"].startswith("SystemExit: enough")


@pytest.mark.parametrize("workers", [0, 1])
def test_agents_compute_in_one_thread(workers: int) -> None:
    assert not run(protocol("CountsThreads", seeds="0:1"), workers=workers).failures


def test_filled_gaps_are_reported_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the driver of a sweep, and by a command as a note about its data."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{t},{t % 2 if t != 3 else ''},{t % 3}\n" for t in range(40))
    Path("gaps.csv").write_text(f"t,a,b\n{rows}")
    world = "PeriodicGP-Replay-v0:data=gaps.csv,period=6"
    with pytest.warns(FilledGapsWarning) as warned:
        run(protocol("random", "fixed", envs=[world], horizon=None), workers=1)
    printed = call("play", world, "random")
    assert len(warned) == printed.stdout.count("filled by") == 1
    assert "filled by" not in capfd.readouterr().err + printed.stderr


def test_workers_use_the_current_data(
    imported_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data that are imported after the fork server has started are used."""
    madrid = protocol("random", seeds="0:1", envs=["PeriodicGP-Madrid-v0"])
    simulated = run(madrid, workers=1).steps
    monkeypatch.setenv("PERIODIC_GP_DATA", str(imported_folder))
    again = Protocol.from_dict(madrid.to_dict())
    measured = [run(again, workers=n).steps for n in (0, 1)]
    pd.testing.assert_frame_equal(*measured)
    assert not measured[0]["reward"].equals(simulated["reward"])


@pytest.mark.parametrize("track", ["training", "online"])
def test_worker_rejects_other_data_or_code(track: str) -> None:
    learning = {"name": f"{AGENTS}:Learns", "track": "pretrained", "training_steps": 64}
    runs = runs_of(protocol("random", agents=["random", learning]))
    run = next(run for run in runs if run.track == track)
    assert execute(run).reason is None
    for other in ({"data": "x"}, {"sources": "x"}):
        assert execute(replace(run, **other)).reason.startswith("RuntimeError")


@pytest.mark.parametrize("workers", [0, 1])
def test_sweep_runs_an_edited_agent_again(tmp_path: Path, workers: int) -> None:
    file = tmp_path / "mine.py"
    text = AGENTS.read_text()
    file.write_text(text)
    os.utime(file, (1e9, 1e9))
    table = {"envs": [WORLD], "agents": [f"{file}:Good"], "seeds": "0:2", "horizon": 5}
    store = Store()
    first = run(Protocol.from_dict(table), store=store, workers=workers)
    assert (first.steps["action"] == 0).all()
    file.write_text(text.replace("return 0 if", "return 7 if"))
    os.utime(file, (1e9, 1e9))  # as after two edits within a second
    again = run(Protocol.from_dict(table), store=store, workers=workers)
    assert (again.steps["action"] == 7).all()
    file.write_text(text)
    seen: list[Any] = []
    back = run(Protocol.from_dict(table), store=store, workers=workers, on_progress=seen.append)
    assert seen[0].done == 4  # all runs are in the store
    pd.testing.assert_frame_equal(back.steps, first.steps)


@posix_only
def test_run_whose_process_died_is_not_repeated(tmp_path: Path) -> None:
    """An agent could otherwise keep what it has seen for a second attempt."""
    dying = f"DiesOnce:marker={tmp_path / 'marker'}"
    results = run(protocol(dying, "random", seeds="0:3"), workers=2)
    assert ["exit code 9" in failed.reason for failed in results.failures] == [True]
    assert (tmp_path / "marker").exists()


@linux_only
def test_sweep_survives_a_killed_worker(tmp_path: Path) -> None:
    """The worker's current run fails, and all others are run once."""
    log = tmp_path / "log"
    slow = protocol(f"Counts:log={log},pause=0.02", seeds="0:6")
    killed: list[int] = []

    def kill_one(progress) -> None:
        if progress.done >= 3 and not killed:
            workers = [p for p in worker_pids() if p not in killed]
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    results = run(slow, workers=2, references=False, on_progress=kill_one)
    assert killed
    assert len(results.failures) <= 1
    assert all("exit code -9" in failed.reason for failed in results.failures)
    assert len(results.totals) + len(results.failures) == 6
    lives = len(log.read_text().split())  # the lost run may not have come to its agent
    assert len(results.totals) <= lives <= 6


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("isolation", "Sandbox", None),
        ("isolation", "", None),
        *(("workers", value, None) for value in (-1, "2", 1.5, True)),
        ("store", 3, None),
        ("seeds", 3, "invalid-seeds"),
        ("seeds", np.array([0.5]), "invalid-seeds"),
        ("protocol", 3, "invalid-argument"),
        ("envs", "PeriodicGP-RideShare-v0", "not-a-list"),
        ("envs", 3, "not-a-list"),
        ("agents", "random", "not-a-list"),
    ],
)
def test_run_rejects_bad_arguments(name: str, value: Any, code: str | None) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        evaluation.run(**{"protocol": "smoke", "seeds": "0:1", "workers": 0, name: value})
    assert getattr(caught.value, "code", None) == code


def test_run_takes_seeds_of_numpy() -> None:
    assert run(protocol("random"), workers=0, seeds=np.arange(2)).sweep.protocol["seeds"] == [0, 1]


def test_sweep_resumes_from_the_store(tmp_path: Path) -> None:
    log = tmp_path / "log"
    counted = protocol(f"Counts:log={log}", seeds="0:4")
    run(counted, store=tmp_path / "s.sqlite", workers=0)
    assert len(log.read_text().split()) == 4
    seen = []
    run(counted, store=tmp_path / "s.sqlite", workers=0, on_progress=seen.append)
    assert len(log.read_text().split()) == 4
    assert (seen[0].done, seen[0].runs) == (8, 8)
    more = counted.restricted(seeds=range(6))
    run(more, store=tmp_path / "s.sqlite", workers=0)
    assert len(log.read_text().split()) == 6


def test_sweep_repeats_failed_runs_on_request(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    marker = tmp_path / "absent" / "marker"
    failing = protocol(f"DiesOnce:marker={marker}", seeds="0:1")
    assert len(run(failing, store=store, workers=0).failures) == 1  # no such folder
    marker.parent.mkdir()
    marker.touch()
    seen = []
    assert len(run(failing, store=store, workers=0, on_progress=seen.append).failures) == 1
    assert not run(failing, store=store, workers=0, retry_failed=True).failures
    assert [progress.failed for progress in seen] == [1]


def test_sweep_counts_failed_runs(tmp_path: Path) -> None:
    seen = []
    run(protocol("Raises", "random", seeds="0:2"), workers=0, on_progress=seen.append)
    assert [progress.done for progress in seen] == list(range(7))  # with two of the references
    assert (seen[0].failed, seen[-1].failed) == (0, 2)
    assert all(b.failed - a.failed in (0, 1) for a, b in pairwise(seen))


def test_worker_imports_a_library_once(tmp_path: Path) -> None:
    """A worker imports an agent's library for the first of its runs only."""
    (tmp_path / "mine.py").write_text(
        "import os\nfrom tests.test_evaluation.faulty_agents import Counts\n"
        f"with open({str(tmp_path / 'imported')!r}, 'a') as file: print(os.getpid(), file=file)\n"
        "class Mine(Counts): pass\n"
    )
    log = tmp_path / "log"
    results = run(protocol(f"{tmp_path / 'mine.py'}:Mine:log={log}", seeds="0:5"), workers=1)
    assert not results.failures
    assert len(log.read_text().split()) == 5
    imported = (tmp_path / "imported").read_text().split()
    assert set(imported) - {str(os.getpid())} == set(log.read_text().split())
    assert len(imported) == 2  # here, where it is checked, and in the worker

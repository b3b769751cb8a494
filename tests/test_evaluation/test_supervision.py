"""Watching over one's own agents: limits that hold, and nothing that outlives a run."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evaluation.runner import run
from evaluation.running.process import own_python
from evaluation.running.supervision import MAX_PRINTED_BY_AGENT, MAX_PRINTED_BYTES
from tests.platforms import linux_only

from .test_sweep import AGENTS, WORLD, protocol, reasons, worker_pids

pytestmark = linux_only
COMMAND = [str(Path(sys.executable).with_name("periodic-gp"))]
"""As it is installed: Python's own processes behind it are not told to leave folders out."""


def is_alive(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def ended(pid: str) -> bool:
    end = time.monotonic() + 20.0
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_alive(pid)


def test_an_agent_cannot_lift_its_limit_of_memory() -> None:
    found = reasons(run(protocol("LiftsItsLimits", seeds="0:1"), workers=1))
    assert "took more than 400 MB of memory" in found["LiftsItsLimits"]


def test_what_an_agent_started_ends_with_its_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run(protocol(f"LeavesSomebody:log={log}", seeds="0:1"), workers=1)
    assert ended(log.read_text())


def test_what_an_agent_started_ends_with_a_sweep_that_is_stopped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    both = protocol(f"LeavesSomebody:log={log}", "Hangs", seeds="0:1")

    def stop(progress) -> None:
        if progress.record is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(both, workers=1, on_progress=stop)
    end = time.monotonic() + 20.0
    while not log.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not log.exists() or ended(log.read_text())


def test_what_an_agent_prints_is_bounded(tmp_path: Path) -> None:
    command = [*COMMAND, "run", "smoke", "--seeds", "0:1", "--workers", "1"]
    chatty = ["--agents", f"{AGENTS}:Chatters", "--envs", f"{WORLD}:horizon=40"]
    done = subprocess.run(
        [*command, *chatty], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-500:]
    said = "[what else"
    assert done.stderr.count("so much to say") * 15 <= MAX_PRINTED_BYTES < MAX_PRINTED_BY_AGENT
    assert said in done.stderr
    assert "so much to say" not in done.stdout


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A folder with modules of a stranger; importing any of them leaves a file behind."""
    folder = tmp_path / "folder"
    folder.mkdir()
    standard = ("struct", "random", "tempfile", "socket", "multiprocessing", "signal", "threading")
    for name in (*standard, "warnings", "numpy", "agents", "sitecustomize"):
        mark = tmp_path / f"imported-{name}"
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\nraise SystemExit(7)\n")
    return folder


@pytest.mark.parametrize("module", [False, True], ids=["command", "python -m"])
def test_no_process_imports_from_the_current_folder(poisoned: Path, module: bool) -> None:
    command = [sys.executable, "-m", "evaluation"] if module else COMMAND
    if module:  # what Python itself imports before it comes to us is not ours to choose
        for path in poisoned.glob("[!n]*.py"):
            path.unlink()
    more = ["run", "smoke", "--seeds", "0:1", "--agents", "random", "--workers", "1"]
    done = subprocess.run(
        [*command, *more, "--envs", f"{WORLD}:horizon=5"],
        cwd=poisoned,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-800:]
    assert sorted(path.name for path in poisoned.parent.glob("imported-*")) == []


def test_an_agent_in_the_current_folder_is_named_by_its_file(tmp_path: Path, monkeypatch) -> None:
    from evaluation.specs import ProtocolError

    (tmp_path / "mine.py").write_text(AGENTS.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    table = protocol("random").to_dict() | {"agents": ["mine:Good"]}
    with pytest.raises(ProtocolError, match=r"no module 'mine' is installed; write mine.py:Class"):
        run(type(protocol("random")).from_dict(table), workers=1)


def test_the_fork_server_is_hidden_from_others() -> None:
    """Its memory is what every worker begins with (PR_GET_DUMPABLE is 3)."""
    code = (
        "import evaluation.running.executors.preload, ctypes; "
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    )
    done = subprocess.run(own_python(code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.8, 1.5])
def test_ctrl_c_at_any_time_ends_quietly(tmp_path: Path, seconds: float) -> None:
    """Counted from the moment when the command has started a process of its own."""
    more = ["run", "smoke", "--seeds", "0:20", "--workers", "2"]
    with (tmp_path / "errors").open("wb") as errors:
        started = subprocess.Popen(
            [*COMMAND, *more],
            cwd=tmp_path,
            stderr=errors,
            start_new_session=True,
            # A shell has its background commands ignore Ctrl-C, and they pass that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        children, end = Path(f"/proc/{started.pid}/task/{started.pid}/children"), 120.0
        begun = time.monotonic()
        while not children.read_text() and time.monotonic() - begun < end:
            time.sleep(0.01)
        time.sleep(seconds)
        os.killpg(started.pid, signal.SIGINT)
        assert started.wait(120) == 130
    assert "Traceback" not in (tmp_path / "errors").read_text()


def test_a_killed_driver_takes_its_workers_with_it(tmp_path: Path) -> None:
    """Those that are at work, too: an agent may hang as long as its run may last."""
    log = tmp_path / "log"
    command = [*COMMAND, "run", "smoke", "--seeds", "0:1", "--workers", "1"]
    slow = ["--agents", f"{AGENTS}:Counts:log={log},pause=100", "--envs", f"{WORLD}:horizon=5"]
    started = subprocess.Popen([*command, *slow], cwd=tmp_path, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120.0
    while not log.exists() and time.monotonic() < end:
        time.sleep(0.05)
    started.kill()
    started.wait()
    assert ended(log.read_text().strip())


def test_a_worker_killed_while_the_pool_starts_costs_nothing() -> None:
    killed: list[int] = []

    def kill_the_first() -> None:
        end = time.monotonic() + 30.0
        while not killed and time.monotonic() < end:
            for pid in worker_pids()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    results = run(protocol("random", seeds="0:4"), workers=2)
    killer.join()
    assert killed
    assert not results.failures
    assert len(results.totals.query("track == 'online'")) == 4

"""Worker processes: clean starts, quiet ends, and no orphans."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluation.runner import run
from evaluation.runs import runs_of
from evaluation.workers import Processes
from tests.contract.conftest import wait_until
from tests.platforms import linux_only

from .test_sweep import AGENTS, WORLD, protocol, worker_pids

pytestmark = linux_only
COMMAND = [str(Path(sys.executable).with_name("periodic-gp"))]
"""The command as it is installed."""


def is_alive(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs PYTHONSAFEPATH")
def test_workers_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    standard = ("struct", "random", "tempfile", "socket", "multiprocessing", "signal", "threading")
    for name in (*standard, "warnings", "numpy", "agents", "sitecustomize"):
        mark = tmp_path / f"imported-{name}"
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\nraise SystemExit(7)\n")
    short = ["--seeds", "0:1", "--agents", "random", "--envs", f"{WORLD}:horizon=5"]
    done = subprocess.run(
        [*COMMAND, "run", "smoke", "--workers", "1", *short],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-800:]
    assert sorted(path.name for path in tmp_path.glob("imported-*")) == []


@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.5])
def test_ctrl_c_ends_a_sweep(tmp_path: Path, seconds: float) -> None:
    """Seconds are counted from the moment when the command has started its first process."""
    output = tmp_path / "output"
    with output.open("wb") as file:
        started = subprocess.Popen(
            [*COMMAND, "run", "smoke", "--seeds", "0:400", "--workers", "2"],
            cwd=tmp_path,
            stdout=file,
            stderr=file,
            start_new_session=True,
            # A shell has its background commands ignore Ctrl-C, and they pass that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        tasks = Path(f"/proc/{started.pid}/task")
        wait_until(lambda: any((task / "children").read_text() for task in tasks.iterdir()))
        time.sleep(seconds)
        os.killpg(started.pid, signal.SIGINT)
        assert started.wait(120) == 130
    assert "Traceback" not in output.read_text()


def test_worker_ends_with_its_killed_driver(tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = ["--seeds", "0:1", "--agents", f"{AGENTS}:Counts:log={log},pause=100", "--envs", WORLD]
    command = [*COMMAND, "run", "smoke", "--workers", "1", *slow]
    started = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until(log.exists)
    started.kill()
    started.wait()
    wait_until(lambda: not is_alive(log.read_text().strip()))


def test_worker_ends_with_a_stopped_sweep() -> None:
    def stop(progress) -> None:
        if progress.record is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(protocol("HangsStubbornly", seeds="0:2"), workers=2, on_progress=stop)
    wait_until(lambda: not any(is_alive(str(pid)) for pid in worker_pids()))


def test_worker_killed_while_idle_is_replaced() -> None:
    first, second = runs_of(protocol("random", seeds="0:2"))[:2]
    executor = Processes(1)
    try:
        assert executor.submit(first).result(60).reason is None
        killed = worker_pids()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(is_alive(str(pid)) for pid in killed))
        assert executor.submit(second).result(60).reason is None
    finally:
        executor.close()


def test_worker_is_replaced_after_an_agent_that_leaves_a_thread() -> None:
    assert not run(protocol("LeavesThread", "Good:pause=0.05", seeds="0:3"), workers=1).failures

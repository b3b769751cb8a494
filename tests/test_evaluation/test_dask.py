"""A cluster may lose a worker, its scheduler or the network: nobody hangs, nothing runs twice."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from evaluation.protocol import Protocol
from evaluation.runner import Progress, run
from evaluation.running.executors import dask, dask_watch
from evaluation.running.executors.base import ClusterLostError, SweepStoppedError
from evaluation.running.executors.dask import Dask, DaskUnavailableError
from evaluation.running.executors.dask_worker import run_in_worker
from evaluation.runs import runs_of
from evaluation.store import Store, StoreError
from tests.platforms import module_needs_posix
from tests.test_evaluation.clusters import Cluster, cluster, wait_for

module_needs_posix()
pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")  # it comes with Dask

AGENTS = Path(__file__).with_name("faulty_agents.py")
ROOT = Path(__file__).parents[2]
SEEDS = 10


def protocol(agent: str) -> Protocol:
    return Protocol.from_dict(
        {
            "envs": ["PeriodicGP-SyntheticDiscrete-v0"],
            "agents": [f"{AGENTS}:{agent}"],
            "seeds": f"0:{SEEDS}",
            "horizon": 50,
        }
    )


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as found:
        yield found


# Only where all is lost: a busy machine may keep a worker that is well silent for so long.
@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_watch, "PULSE_SECONDS", 1.0)
    monkeypatch.setattr(dask_watch, "MAX_SILENT_SECONDS", 10.0)


def test_it_ends_within_half_a_minute() -> None:
    silence = dask_watch.MAX_SILENT_SECONDS + 3 * dask_watch.PULSE_SECONDS
    assert silence + dask.CLOSE_SECONDS < 30.0


def at_work(
    action: Callable[[], object], ready: Callable[[], bool] = lambda: True
) -> Callable[[Progress], None]:
    """Act once agents are at work: these need a second each."""
    done: list[object] = []

    def on_progress(progress: Progress) -> None:
        if progress.run is not None and str(AGENTS) in progress.run.agent and not done and ready():
            done.append(action())

    return on_progress


def begins_a_run(worker: int, log: Path) -> bool:
    """Wait for an agent that begins below a worker's process: its run is lost with the worker.

    What a lost worker has not begun is run by another one, and nothing is lost.
    """
    before, end = set(log.read_text().split()), time.monotonic() + 1.5
    while time.monotonic() < end:
        begun = set(log.read_text().split()) - before
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(str(p.pid) in begun for p in psutil.Process(worker).children(recursive=True)):
                return True
        time.sleep(0.02)
    return False


def stored(path: Path) -> list[str | None]:
    with Store(path, create=False) as store:
        return [run.reason for run in store.runs(1)]


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_is_lost(two_workers: Cluster, tmp_path: Path, blow: int) -> None:
    log, store = tmp_path / "log", tmp_path / "s.sqlite"
    counting = protocol(f"Counts:log={log},pause=0.02")
    worker = two_workers.workers[0].pid
    lose = at_work(lambda: os.kill(worker, blow), lambda: begins_a_run(worker, log))
    with pytest.raises(SweepStoppedError, match=r"\d runs were lost in the cluster.*same command"):
        run(counting, dask=two_workers.address, store=store, on_progress=lose)
    found = stored(store)
    assert SEEDS < len(found) < 2 * SEEDS  # the other worker went on
    assert set(found) == {None}
    assert len(log.read_text().split()) <= SEEDS  # none was born twice
    two_workers.workers[0].kill()
    results = run(counting, dask=two_workers.address, store=store)
    assert len(results.runs) == 2 * SEEDS
    assert not results.failures


class Silent:
    """The client of a cluster whose only worker has stopped."""

    def __init__(self, begun: list[str], ended: list[str]) -> None:
        self._begun, self._ended = begun, ended
        self.scheduler = self

    async def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    async def processing(self) -> dict[str, list[str]]:
        return {"worker": self._begun}

    async def has_what(self) -> dict[str, list[str]]:
        return {"worker": self._ended}

    async def broadcast(self, msg: object, workers: list[str]) -> None:
        await asyncio.sleep(600)


@pytest.mark.parametrize(("begun", "ended"), [(["mine"], []), ([], ["mine"])])
def test_what_is_at_a_silent_worker_is_lost(
    monkeypatch: pytest.MonkeyPatch, begun: list[str], ended: list[str]
) -> None:
    """An answer that it has, too: nobody can fetch it."""
    monkeypatch.setattr(dask_watch, "PULSE_SECONDS", 0.02)
    monkeypatch.setattr(dask_watch, "MAX_SILENT_SECONDS", 0.2)

    async def wait() -> str:
        watch = dask_watch.Watch(Silent(begun, ended))
        watching = asyncio.ensure_future(watch.run())
        with watch.over("mine") as lost:
            found = await asyncio.wait_for(lost, 30)
        watching.cancel()
        return found

    assert asyncio.run(wait()) == "the worker at worker is silent"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "blow", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)]
)
def test_the_scheduler_is_lost(two_workers: Cluster, tmp_path: Path, blow: int) -> None:
    store = tmp_path / "s.sqlite"
    lose = at_work(lambda: os.kill(two_workers.scheduler.pid, blow))
    begun = time.monotonic()
    with pytest.raises(SweepStoppedError, match=r"does not answer any more; .* runs are kept"):
        run(
            protocol("Good:pause=0.02"),
            dask=two_workers.address,
            store=store,
            on_progress=lose,
        )
    assert time.monotonic() - begun < 120.0
    assert set(stored(store)) == {None}


@pytest.mark.usefixtures("impatient")
def test_all_workers_are_lost(two_workers: Cluster, tmp_path: Path) -> None:
    def lose() -> None:
        for worker in two_workers.workers:
            worker.kill()

    with pytest.raises(SweepStoppedError, match="has no workers any more"):
        run(
            protocol("Good:pause=0.02"),
            dask=two_workers.address,
            store=tmp_path / "s.sqlite",
            on_progress=at_work(lose),
        )


def test_a_batch_is_begun_once(two_workers: Cluster) -> None:
    """Whatever makes a scheduler hand out a task again."""
    one = runs_of(protocol("Good"))[:1]
    executor = Dask(two_workers.address)
    try:
        assert len(executor.submit(one).result(60)) == 1

        async def again() -> list[object]:
            await executor._leave_token("token")
            client = executor._client
            tasks = [client.submit(run_in_worker, one, "token", pure=False) for _ in range(2)]
            return [await task for task in tasks]

        answers = executor._call(again()).result(60)
        assert {type(answer) for answer in answers} == {ClusterLostError, list}
    finally:
        executor.close()


def test_a_worker_that_cannot_run_anything(two_workers: Cluster) -> None:
    executor = Dask(two_workers.address)
    try:
        broken: Future[object] = executor.submit([3])  # type: ignore[list-item]
        with pytest.raises(SweepStoppedError, match=r"cannot run anything .*same command"):
            broken.result(60)
    finally:
        executor.close()


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 1.0)
    with pytest.raises(DaskUnavailableError, match="no Dask scheduler answers at 'tcp://127"):
        run(protocol("Good"), dask="tcp://127.0.0.1:9")


def command(folder: Path, address: str, agent: str) -> subprocess.Popen[str]:
    """The driver's own path begins with its script's folder, as that of a console script."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "driver.py"
    script.write_text(
        "from periodic_decisions.cli import main\n\nif __name__ == '__main__':\n    main()\n"
    )
    (folder / "mine.toml").write_text(
        'envs = ["PeriodicGP-SyntheticDiscrete-v0"]\nseeds = "0:40"\nhorizon = 50\n'
        f'agents = ["{AGENTS}:{agent}"]\n'
    )
    return subprocess.Popen(
        [sys.executable, str(script), "run", "mine.toml", "--dask", address, "--workers", "2"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests run in the background, Ctrl-C would be ignored from the start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_nothing_is_left_behind(two_workers: Cluster) -> None:
    """No token on the scheduler, no thread here."""
    before = threading.active_count()
    executor = Dask(two_workers.address)
    one = runs_of(protocol("Good"))[:1]
    for future in [executor.submit(one) for _ in range(3)]:
        assert len(future.result(60)) == 1

    def tokens(dask_scheduler: Any) -> int:
        return len(dask_scheduler.extensions["queues"].queues)

    async def left() -> int:
        while left := await executor._client.run_on_scheduler(tokens):
            await asyncio.sleep(0.1)
        return int(left)

    try:
        assert executor._call(left()).result(60) == 0
    finally:
        executor.close()
    wait_for(lambda: threading.active_count() <= before)


def kept(path: Path) -> int:
    try:
        return len(stored(path))
    except StoreError:  # not begun yet
        return 0


def interrupted(process: subprocess.Popen[str]) -> str:
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of them
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    return out


@pytest.mark.parametrize("runs", [0, 3])
def test_ctrl_c_with_a_cluster_of_our_own(tmp_path: Path, runs: int) -> None:
    """While it starts, and while it works; strangers' files are none that it imports."""
    for name in ("multiprocessing", "distributed", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    process = command(tmp_path, "local", "Good:pause=0.02")
    wait_for(lambda: (tmp_path / "results.sqlite").exists())
    wait_for(lambda: kept(tmp_path / "results.sqlite") >= runs)
    assert "Run the same command again to go on." in interrupted(process)
    assert not (tmp_path / "imported").exists()


def test_ctrl_c_with_a_scheduler_that_is_silent(two_workers: Cluster, tmp_path: Path) -> None:
    process = command(tmp_path, two_workers.address, "Good:pause=0.02")
    wait_for(lambda: kept(tmp_path / "results.sqlite") >= 3)
    os.kill(two_workers.scheduler.pid, signal.SIGSTOP)
    time.sleep(2.0)
    assert "Run the same command again to go on." in interrupted(process)

"""A Dask cluster as executor: lost workers, a lost scheduler, and Ctrl-C."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from evaluation import cluster as dask
from evaluation.cluster import Dask, DaskUnavailableError
from evaluation.protocol import Protocol
from evaluation.runner import Progress, run
from evaluation.store import Store, StoreError
from evaluation.workers import SweepStoppedError
from tests.contract.conftest import wait_until
from tests.errors import raises
from tests.platforms import module_needs_posix
from tests.test_evaluation.clusters import Cluster, cluster

module_needs_posix()
pytest.importorskip("distributed")

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
    with cluster(tmp_path / "cluster") as running:
        yield running


def at_work(action: Callable[[], object]) -> Callable[[Progress], None]:
    """Act once agents are at work: these need a second each."""
    done: list[object] = []

    def on_progress(progress: Progress) -> None:
        if progress.run is not None and str(AGENTS) in progress.run.agent and not done:
            done.append(action())

    return on_progress


def stored(path: Path) -> list[str | None]:
    """Return the reasons of stored runs; none if the sweep has not begun."""
    with suppress(StoreError), Store(path, create=False) as store:
        return [run.reason for run in store.runs(1)]
    return []


def test_sweep_survives_a_lost_worker(two_workers: Cluster) -> None:
    results = run(
        protocol("Good:pause=0.02"),
        dask=two_workers.address,
        on_progress=at_work(two_workers.workers[0].kill),
    )
    assert len(results.runs) == 2 * SEEDS
    assert not results.failures
    alone = run(protocol("Good"), workers=0)
    assert results.totals["regret"].tolist() == alone.totals["regret"].tolist()


def test_sweep_stops_without_a_scheduler(two_workers: Cluster, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    with raises(SweepStoppedError, "cluster-lost"):
        run(
            protocol("Good:pause=0.02"),
            dask=two_workers.address,
            store=store,
            on_progress=at_work(two_workers.scheduler.kill),
        )
    assert set(stored(store)) == {None}


def test_sweep_stops_with_a_broken_worker(two_workers: Cluster) -> None:
    executor = Dask(two_workers.address)
    try:
        broken = executor.submit(3)  # type: ignore[arg-type]
        with raises(SweepStoppedError, "unusable-workers"):
            broken.result(60)
    finally:
        executor.close()


def test_dask_reports_a_silent_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 1.0)
    with raises(DaskUnavailableError, "no-scheduler"):
        run(protocol("Good"), dask="tcp://127.0.0.1:9")


def test_ctrl_c_ends_a_local_cluster(tmp_path: Path) -> None:
    """Files in the current folder are not imported."""
    for name in ("multiprocessing", "distributed", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "driver.py"
    script.write_text("from evaluation.cli import main\n\nif __name__ == '__main__':\n    main()\n")
    (tmp_path / "mine.toml").write_text(
        'envs = ["PeriodicGP-SyntheticDiscrete-v0"]\nseeds = "0:40"\nhorizon = 50\n'
        f'agents = ["{AGENTS}:Good:pause=0.02"]\n'
    )
    process = subprocess.Popen(
        [sys.executable, str(script), "run", "mine.toml", "--dask", "local", "--workers", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests run in the background, Ctrl-C would be ignored from the start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until(lambda: len(stored(tmp_path / "results.sqlite")) >= 3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of them
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert not (tmp_path / "imported").exists()

"""Other systems, imitated: no import and no run in one process needs POSIX."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AS_ON_WINDOWS = """
import os, pkgutil, signal, socket, sys, warnings
warnings.simplefilter("ignore")
# Dependencies first: they may ask for the system.
import asyncio, filelock, greenlet, gymnasium, jinja2, matplotlib.pyplot, msgspec, numpy
import cloudpickle, pandas, plotly.graph_objects, pyarrow.parquet, rich.progress, safetensors
import scipy.stats
import threadpoolctl, typer.testing
import multiprocessing.resource_tracker, multiprocessing.util, subprocess
for module in ("resource", "fcntl", "pwd", "termios"):
    sys.modules[module] = None
for name in ("fork", "getuid", "geteuid", "killpg", "set_blocking", "sysconf", "WNOHANG"):
    delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGSTOP", "pthread_sigmask", "setitimer"):
    delattr(signal, name)
for name in ("send_fds", "recv_fds"):
    delattr(socket, name)
sys.platform = "win32"
os.environ["PATH"] = ""  # no git: it is started by POSIX functions here
import agents, evaluation, periodic_decisions, periodic_envs
for package in (periodic_envs, agents, evaluation, periodic_decisions):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "agents.rl" not in module.name and not module.name.endswith("__main__"):
            __import__(module.name)
results = evaluation.run("smoke", agents=["random", "gp-ucb"], seeds="0:1", workers=0)
assert not results.failures, results.failures
print(len(results.totals))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are imitated on Linux")
def test_packages_run_without_posix() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 0

"""Other systems, as far as this one can tell: imports need no POSIX, and tests say what does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
POSIX = re.compile(
    r"os\.fork\(|os\.getuid\(|os\.killpg\(|preexec_fn=|^import resource"
    r"|signal\.SIG(?:KILL|STOP|ALRM)"
    r"|Path\(f?\"/proc",
    re.MULTILINE,
)
"""What Windows does not have, or only Linux has."""
GUARDED = re.compile(r"linux_only|posix_only|module_needs_posix|skipif|needs_sandbox")

AS_ON_WINDOWS = """
import os, pkgutil, signal, socket, sys, warnings
warnings.simplefilter("ignore")
# Other people's code first: it may ask the system what it is.
import filelock, greenlet, gymnasium, jinja2, matplotlib.pyplot, msgspec, numpy
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
os.environ["PATH"] = ""  # no git: what starts it here is POSIX, too
import agents, evaluation, periodic_envs
for package in (periodic_envs, agents, evaluation):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "agents.rl" not in found.name and not found.name.endswith("__main__"):
            __import__(found.name)
results = evaluation.run("smoke", agents=["random", "gp-ucb"], seeds="0:1", workers=0)
assert not results.failures, results.failures
print(len(results.totals))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are imitated on Linux")
def test_packages_are_imported_and_run_without_posix() -> None:
    """Nothing forks or asks for POSIX when it is imported, nor in a sweep within one process."""
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 0


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_tests_that_need_posix_are_marked(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path != Path(__file__) and POSIX.search(text):
        assert GUARDED.search(text), "mark it by linux_only or posix_only of tests/platforms.py"


def test_a_test_that_needs_posix_would_be_seen() -> None:
    assert POSIX.search("os.kill(pid, signal.SIGKILL)")
    assert not POSIX.search("process.kill()")

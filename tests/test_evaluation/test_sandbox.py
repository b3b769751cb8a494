"""The sandbox: equal numbers, and isolation from the machine."""

import compileall
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from evaluation import sandbox
from evaluation.runner import run
from tests.contract.conftest import wait_until
from tests.platforms import needs_sandbox

from .test_sweep import protocol, reasons

BODY = """
import ctypes, json, os, resource, socket, subprocess, sys, threading
class Agent:
    def __init__(self, problem, rng): pass
    def update(self, observation, action, reward): pass
    def act(self, observation):
"""


def answer(tmp_path: Path, code: str) -> str:
    """Return ``value`` after Python code in the sandbox, or its error."""
    file = tmp_path / "probe.py"
    lines = "".join(f"        {line}\n" for line in code.splitlines())
    file.write_text(f"{BODY}{lines}        raise RuntimeError(repr(value))\n")
    probe = protocol(f"{file}:Agent", seeds="0:1")
    return run(probe, workers=1, isolation="sandbox").failures[0].reason


@needs_sandbox
def test_sandbox_gives_the_same_numbers() -> None:
    worlds = {"envs": ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0:dim=2"]}
    names = ("random", "gp-thompson")
    alone = run(protocol(*names, horizon=5, **worlds), workers=2, isolation="sandbox").steps
    together = run(protocol(*names, horizon=5, **worlds), workers=0).steps
    pd.testing.assert_frame_equal(alone, together)


@needs_sandbox
def test_sandbox_reports_failures() -> None:
    expected = {
        "Raises": "RuntimeError: a bad day (faulty_agents.py, line",
        "RaisesInInit": "never born",
        "Exits": "the agent's process ended",
        "Leaves": "SystemExit: enough",
        "Eats": "memory",
        "WrongType": "left",
        "Rambles": "the agent's process gave an invalid answer",
        "AnswersAhead": "sent an answer without the token",
    }
    failures = reasons(run(protocol(*expected, seeds="0:1"), workers=2, isolation="sandbox"))
    assert {name for name, text in expected.items() if text in failures[name]} == set(expected)


@needs_sandbox
def test_sandbox_ends_with_its_run() -> None:
    hanging = protocol("HangsStubbornly", seeds="0:1", seconds=2.0)
    (failure,) = run(hanging, workers=1, isolation="sandbox").failures
    assert "took more than 2 seconds" in failure.reason
    wait_until(lambda: not sandboxes("faulty_agents.py"))


def sandboxes(file: str) -> list[str]:
    """Return the command lines of running sandboxes with the agents of a file."""
    listed = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if "bwrap" in line and file in line]


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("value = sorted(p for p in os.listdir('/proc') if p.isdigit())", "['1', '2']"),
        ("value = os.environ.get('SECRET_OF_THE_TEST'), os.getcwd()", "(None, '/home/agent')"),
        # Sums of many terms depend on the number of threads, and choices on sums.
        ("value = os.environ['OPENBLAS_NUM_THREADS'], os.environ['OMP_NUM_THREADS']", "('1', '1')"),
        ("value = [*os.listdir('/home/agent'), *set(os.listdir('/tmp')) - {tmp!r}]", "[]"),
        ("value = os.path.exists({home!r}), os.path.exists({tests!r})", "(False, False)"),
        ("value = [i[1] for i in socket.if_nameindex()]", "['lo']"),
        ("value = open({package!r}, 'a')", "Read-only file system"),
        ("value = open('/usr/x', 'w')", "Read-only file system"),
        ("value = open('/etc/x', 'w')", "Read-only file system"),
        ("value = open('/dev/shm/x', 'w')", "Read-only file system"),
        ("value = open('/proc/sys/kernel/core_pattern', 'r+')", "Read-only file system"),
        ("value = open('/proc/self/environ').read()", "HOME=/home/agent"),
        ("value = ctypes.CDLL(None).unshare(0x10000000)", "-1"),
        ("value = os.kill(-1, 9)", "No such process"),
        ("value = len([t for t in range(3) if not threading.Thread(target=int).start()])", "3"),
        ("os.write(os.open('/tmp/x', 65), b'x'); value = os.listdir('/tmp')", "'x'"),
        (
            "with open('/tmp/big', 'wb') as file:\n"
            "    for _ in range(80): file.write(bytes(2**20))\n"
            "value = 'written'",
            "File too large",
        ),
        (
            "for limit in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):\n"
            "    resource.setrlimit(limit, (resource.RLIM_INFINITY,) * 2)\n"
            "value = 'lifted'",
            "not allowed to raise maximum limit",
        ),
    ],
)
def test_sandbox_hides_and_protects_the_machine(
    tmp_path: Path, monkeypatch, code: str, expected: str
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TEST", "1")
    places = {
        "home": str(Path.home() / ".config"),
        "tests": str(Path(__file__).parent),
        "package": str(Path(sandbox.__file__)),
        "tmp": {*tmp_path.parts, *Path(sys.executable).parts},
    }
    assert expected in answer(tmp_path, code.format(**places))


@needs_sandbox
def test_sandbox_computes_with_the_kernels_of_its_driver(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from tests.test_evaluation.test_sandbox import answer;"
        "print(answer(pathlib.Path(sys.argv[1]), \"value = os.environ['OPENBLAS_CORETYPE']\"))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OPENBLAS_CORETYPE": "Nehalem"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Nehalem" in done.stdout


@needs_sandbox
def test_sandbox_keeps_no_files(tmp_path: Path) -> None:
    code = "value = os.path.exists('/tmp/note'); open('/tmp/note', 'w').close()"
    assert all("False" in answer(tmp_path, code) for _ in range(2))


@needs_sandbox
def test_sandbox_imports_packages_from_their_source(tmp_path: Path, monkeypatch) -> None:
    package = tmp_path / "folder" / "guests"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from guests.inner import Agent\n")
    (package / "inner.py").write_text(
        "class Agent:\n    def __init__(self, problem, rng): pass\n"
        "    def act(self, observation): return 3\n"
        "    def update(self, observation, action, reward): pass\n"
    )
    # Compiled code that differs from its source.
    compileall.compile_dir(package, quiet=2)
    cache = next((package / "__pycache__").glob("inner*.pyc"))
    cache.write_bytes(cache.read_bytes().replace(b"\x03\x00\x00\x00", b"\x04\x00\x00\x00"))
    monkeypatch.syspath_prepend(package.parent)
    for isolation in ("sandbox", "none"):
        results = run(protocol("guests:Agent", seeds="0:1"), workers=1, isolation=isolation)
        assert set(results.steps["action"]) == {3}


@needs_sandbox
def test_sandbox_rejects_a_forged_start_failure(tmp_path: Path) -> None:
    """An agent that could report one would not have failed."""
    reason = answer(tmp_path, f"raise type({sandbox.DID_NOT_START!r}, (Exception,), {{}})('x')")
    assert reason.startswith("the agent reports: ")


@needs_sandbox
def test_sandbox_reports_its_own_failure_to_start(monkeypatch) -> None:
    monkeypatch.setattr(sandbox, "_NAMESPACES", ("--no-such-option",))
    results = run(protocol("random", seeds="0:1"), workers=0, isolation="sandbox")
    assert results.failures[0].reason.startswith("the sandbox did not start: bwrap")


def test_sandbox_reports_missing_bubblewrap(monkeypatch) -> None:
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    assert "bubblewrap is not installed" in sandbox.why_not.__wrapped__()


def test_own_python_ignores_the_current_folder(tmp_path: Path) -> None:
    for name in ("numpy", "struct", "json", "evaluation"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from here')\n")
    code = "import struct, json, numpy, evaluation; print(sys.path[0])"
    command = sandbox.own_python(code)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in done.stdout
    assert sys.executable == command[0]

"""A sandbox for agents that are not trusted: bubblewrap (``bwrap``), where the system has it.

The agent's process has namespaces of its own (user, pid, mount, ipc, network, host name), no
privileges, a read-only system and Python environment, an empty home and ``/tmp`` in memory, none of
the user's files but its own code, no environment variables but those that choose the kernels of the
BLAS, and a filter of system calls (``seccomp.py``). It ends with its judge. Limits of memory, time,
files and processes are set by the process itself before it loads the agent
(``process.limit_for_good``), and hold since it has no privilege to raise them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from agents.registry import AgentSpec, names
from evaluation.keys import CACHE, find_package
from evaluation.running.agent_process import STARTED, receive
from evaluation.running.process import ONE_THREAD, ROOT, own_python
from evaluation.running.seccomp import program

DID_NOT_START = "the sandbox did not start"
"""Begins the reason of a run that failed before there was an agent."""
MAX_KEPT_BYTES = 2**26
"""All that an agent may write into its ``/tmp``, and as much into its home."""
START_SECONDS = 120.0
PACKAGES = ("agents", "evaluation", "periodic_envs")
_HOME = "/home/agent"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *("/etc/localtime", "/sys/devices/system/cpu"),
)
"""Read by the linker, by clocks, and by libraries that count processors; nothing of the user's."""
_BLAS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS")
"""Variables that choose how sums are rounded: an agent must compute as it does elsewhere."""
_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts"),
    *("--unshare-cgroup-try", "--disable-userns", "--uid", "65534", "--gid", "65534"),
    *("--hostname", "agent", "--cap-drop", "ALL", "--new-session", "--die-with-parent"),
    "--as-pid-1",  # no other process is there, not even one of bubblewrap's own
)


class SandboxError(Exception):
    """A sandbox that did not start: one sentence that begins with ``DID_NOT_START``."""


def available() -> str | None:
    """The sandbox of this system with its version, None if there is none that works."""
    return _probe()[0]


def why_not() -> str:
    """Why there is no sandbox here, and what to do about it."""
    return _probe()[1]


@functools.cache
def _probe() -> tuple[str | None, str]:
    found = shutil.which("bwrap")
    if found is None:
        return None, "bubblewrap is not installed (bwrap; Debian's package is called bubblewrap)"
    if program() is None:
        return None, "the numbers of system calls on this kind of machine are not known"
    try:
        line, process = start(AgentSpec("random"))
        line.close()
        process.kill()
        process.wait()
    except SandboxError as error:
        return None, f"{error} (bubblewrap 0.8 and user namespaces are needed)"
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return " ".join(said.split()) or "bubblewrap", ""


def shows(path: Path) -> bool:
    """Whether an agent in the sandbox could read this file."""
    seen = [*_SYSTEM, *_SETTINGS, *_environment()]
    return any(path.resolve().is_relative_to(Path(place).resolve()) for place in seen)


def located(spec: AgentSpec) -> AgentSpec:
    """The agent by a name that means the same in any folder."""
    place, colon, attribute = spec.name.partition(":")
    if not place.endswith(".py"):
        return spec
    return replace(spec, name=f"{Path(place).resolve()}{colon}{attribute}")


def start(spec: AgentSpec) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start an agent's process, which has not touched the agent's code yet.

    Returns:
        The line to it, and the process, which ends with the one that called this.

    Raises:
        SandboxError: If it does not come up.
    """
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as opened:
        opened.callback(theirs.close)
        errors = opened.enter_context(tempfile.TemporaryFile())
        code = f"from evaluation.running.agent_process import main; main({theirs.fileno()})"
        own = _own_places(spec.name)
        # A package is imported from the folder that it is in; a file is loaded by its name.
        packages = [str(place.parent) for place in own if place.suffix != ".py" or _is_module(spec)]
        command = own_python(code, folders=packages)
        try:
            process = _popen(command, own, theirs.fileno(), errors)
        except OSError as error:
            ours.close()
            raise SandboxError(f"{DID_NOT_START}: {error}") from None
        theirs.close()
        try:
            ours.settimeout(START_SECONDS)
            if receive(ours, len(STARTED)) != STARTED:
                raise EOFError
            ours.settimeout(None)
        except (EOFError, OSError, ValueError):
            ours.close()
            process.kill()
            process.wait()
            errors.seek(0)
            said = errors.read(10_000).decode(errors="replace").strip().splitlines()[-1:]
            raise SandboxError(": ".join([DID_NOT_START, *said])) from None
    return ours, process


def _popen(
    command: Sequence[str], own: Iterable[Path], line: int, errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as rules:
        rules.write(program() or b"")
        rules.seek(0)
        seccomp = ("--seccomp", str(rules.fileno()))
        return subprocess.Popen(
            [
                shutil.which("bwrap") or "bwrap",
                *_NAMESPACES,
                *_mounts(own),
                *seccomp,
                "--",
                *command,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(line, rules.fileno()),
            env={},
        )


def _mounts(own: Iterable[Path]) -> Iterator[str]:
    """What the agent sees of the disk."""
    for place in _SYSTEM:
        if os.path.islink(place):
            yield from ("--symlink", os.readlink(place), place)
        elif os.path.isdir(place):
            yield from ("--ro-bind", place, place)
    for place in _SETTINGS:
        yield from ("--ro-bind-try", place, place)
    for place in ("/tmp", _HOME):
        yield from ("--size", str(MAX_KEPT_BYTES), "--tmpfs", place)
    yield from ("--proc", "/proc", "--dev", "/dev")
    for place in _outermost([*_environment(), *map(str, own)]):
        yield from ("--ro-bind", place, place)
    # Nobody has looked at compiled code: the sources are what was hashed.
    for cache in (found for place in own for found in place.rglob(CACHE)):
        yield from ("--size", "4096", "--tmpfs", str(cache), "--remount-ro", str(cache))
    # Root in a user namespace may still write what belongs to root: /proc/sys, among others.
    for place in ("/proc", "/dev", "/"):
        yield from ("--remount-ro", place)
    yield from ("--clearenv", "--chdir", _HOME)
    blas = {name: os.environ[name] for name in _BLAS if name in os.environ}
    variables = {"HOME": _HOME, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **ONE_THREAD, **blas}
    for name, value in variables.items():
        yield from ("--setenv", name, value)


@functools.cache
def _environment() -> tuple[str, ...]:
    """Python, the installed packages and ours: what an isolated Python imports from."""
    asked = subprocess.run(
        own_python("print(*sys.path, sep='\\n')"), capture_output=True, text=True, check=False
    )
    folders = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    folders |= set(asked.stdout.splitlines()) - {str(ROOT)}
    folders |= {str(ROOT / package) for package in PACKAGES} | set(_links(sys.executable))
    return tuple(filter(os.path.exists, folders))


def _outermost(places: Iterable[str]) -> Iterator[str]:
    """Those that are in none of the others, nor in the system's folders."""
    seen = [Path(place) for place in _SYSTEM]
    for place in sorted(places):
        if not any(Path(place).is_relative_to(outer) for outer in seen):
            seen.append(Path(place))
            yield place


def _links(path: str) -> Iterator[str]:
    """The places that a chain of links leads through."""
    while os.path.islink(path):
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        yield path


def _is_module(spec: AgentSpec) -> bool:
    return not names().get(spec.name, spec.name).partition(":")[0].endswith(".py")


def _own_places(name: str) -> list[Path]:
    """The file of an agent, or the folder of its package, if it is not ours."""
    place = names().get(name, name).partition(":")[0]
    if place.endswith(".py"):
        return [Path(place).resolve()]
    top = place.partition(".")[0]
    if top in PACKAGES:
        return []
    found = find_package(top)
    folders = [*(found.submodule_search_locations or ())] if found else []
    files = folders or ([found.origin] if found and found.origin else [])
    return [Path(file).resolve() for file in files if os.path.exists(file)]

"""A filter of system calls for agents in the sandbox, as the kernel takes it.

An agent is one process with as many threads as it likes: it starts no others, so that its limits of
memory and time are limits of all that it does. It opens no sockets, leaves nothing behind in the
kernel (shared memory, queues, keys), tells others nothing by locks on files that both read, looks
into no other process and makes no namespaces.

A filter is a program of classic BPF over ``struct seccomp_data`` (number, architecture, instruction
pointer, arguments); see seccomp(2).
"""

from __future__ import annotations

import errno
import platform
import struct

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What the kernel calls them (AUDIT_ARCH_...)."""
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_PRCTL = {"x86_64": 157, "aarch64": 167}
_PARENT_DEATH = 1
"""Of prctl: an agent that could ask for no signal when its parent ends would outlive its judge."""
_FCNTL = {"x86_64": 72, "aarch64": 25}
_LOCKS = (5, 6, 7, 36, 37, 38, 1024, 1025, 1026)
"""Of fcntl: locks, leases and notices of files, asked for or set."""
_X32 = 0x40000000
"""From here on x86_64 counts the calls of another interface, which we do not know."""
_CLONE_THREAD = 0x00010000
_DENIED = {
    "x86_64": {
        **{"fork": 57, "vfork": 58, "ptrace": 101, "process_vm_readv": 310},
        **{"process_vm_writev": 311, "kcmp": 312, "pidfd_getfd": 438, "socket": 41},
        **{"shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240, "memfd_create": 319},
        **{"memfd_secret": 447, "add_key": 248, "request_key": 249, "keyctl": 250},
        **{"unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155},
        **{"chroot": 161, "open_tree": 428, "move_mount": 429, "fsopen": 430},
        **{"bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425},
        **{"flock": 73, "inotify_init": 253, "inotify_init1": 294, "fanotify_init": 300},
    },
    "aarch64": {
        **{"ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272},
        **{"pidfd_getfd": 438, "socket": 198, "shmget": 194, "semget": 190, "msgget": 186},
        **{"mq_open": 180, "memfd_create": 279, "memfd_secret": 447, "add_key": 217},
        **{"request_key": 218, "keyctl": 219, "unshare": 97, "setns": 268, "mount": 40},
        **{"umount2": 39, "pivot_root": 41, "chroot": 51, "open_tree": 428},
        **{"move_mount": 429, "fsopen": 430, "bpf": 280, "perf_event_open": 241},
        **{"userfaultfd": 282, "io_uring_setup": 425, "flock": 32, "inotify_init1": 26},
        **{"fanotify_init": 262},
    },
}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
"""Places in ``struct seccomp_data``."""
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction; jumps count the instructions that are skipped."""
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERROR | error)


def program(machine: str | None = None) -> bytes | None:
    """The filter for this kind of machine, None if its numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        return None
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1),
        _step(_RETURN, _KILL),
        # The library then falls back to clone, whose flags can be read here.
        _step(_EQUAL, _CLONE3, 0, 1),
        _refuse(errno.ENOSYS),
    ]
    for number in _DENIED[machine].values():
        steps += [_step(_EQUAL, number, 0, 1), _refuse(errno.EPERM)]
    steps += [
        _step(_EQUAL, _CLONE[machine], 0, 3),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_ANY_BIT, _CLONE_THREAD, 1, 0),
        _refuse(errno.EPERM),
        # Behind the flags of clone nothing is left of the number: ask for it again.
        _step(_LOAD, _NUMBER),
        _step(_EQUAL, _PRCTL[machine], 0, 3),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_EQUAL, _PARENT_DEATH, 0, 1),
        _refuse(errno.EPERM),
        _step(_LOAD, _NUMBER),
        _step(_EQUAL, _FCNTL[machine], 1, 0),
        _step(_RETURN, _ALLOW),
        _step(_LOAD, _SECOND_ARGUMENT),
    ]
    for command in _LOCKS:
        steps += [_step(_EQUAL, command, 0, 1), _refuse(errno.EPERM)]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])

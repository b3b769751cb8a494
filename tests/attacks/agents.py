"""Agents that cheat. Each plays honestly where its cheat finds nothing."""

import contextlib
import ctypes
import gc
import os
import signal
import socket
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np


class Honest:
    """Each arm once, then the best of them."""

    def __init__(self, problem, rng):
        self.problem, self.rng = problem, rng
        self.sums, self.counts = np.zeros(problem.n_actions), np.zeros(problem.n_actions)

    def act(self, observation):
        untried = np.flatnonzero(self.counts == 0)
        if len(untried):
            return int(untried[0])
        return int(np.argmax(self.sums / self.counts))

    def update(self, observation, action, reward):
        self.sums[action] += reward
        self.counts[action] += 1


class Signals(Honest):
    """Plays arm 1 where its attack succeeds, else arm 0."""

    def act(self, observation):
        try:
            return int(bool(self.attack()))
        except OSError:  # the system says no; a mistake of ours would end the run
            return 0


# Looking around


class SearchesGarbage(Signals):
    def attack(self):
        wanted = {"PeriodicBanditEnv", "Episode", "Run", "HiddenSeeds"}
        return any(type(thing).__name__ in wanted for thing in gc.get_objects())


class ReadsFrames(Signals):
    def attack(self):
        frame, found = sys._getframe(), False
        assert frame.f_back is not None
        while frame is not None:
            found |= any(hasattr(value, "episode") for value in frame.f_locals.values())
            frame = frame.f_back
        return found


class ReadsMemory(Signals):
    """Any other process: judge, worker, fork server, zygote, driver."""

    def attack(self):
        with open("/proc/self/mem", "r+b" if os.access("/proc/self/mem", os.W_OK) else "rb"):
            pass  # so there is such a file
        others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
        for pid in others:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "r+b"):
                return True
        return False


class TracesItsJudge(Signals):
    def attack(self):
        return ctypes.CDLL(None).ptrace(16, peer(), 0, 0) == 0  # PTRACE_ATTACH


class ReadsSecrets(Signals):
    """Keys in the user's settings and in the environment."""

    def attack(self):
        homes = [Path("/root"), *Path("/home").glob("*")]
        places = [home / ".config" for home in homes]
        return "SECRET_OF_THE_TEST" in os.environ or any(place.exists() for place in places)


class PhonesHome(Signals):
    def __init__(self, problem, rng, port):
        super().__init__(problem, rng)
        self.port = port

    def attack(self):
        with socket.socket() as out:
            out.settimeout(1.0)
            return out.connect_ex(("127.0.0.1", self.port)) == 0


def peer():
    """The process at the other end of the line to the judge."""
    for fd in range(3, 64):
        with contextlib.suppress(OSError):
            line = socket.socket(fileno=os.dup(fd))
            said = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            return struct.unpack("3i", said)[0]
    return 0


# Knowing beforehand


class SecondLife(Honest):
    """Writes down which arm was best, kills whoever judges it, and uses it in its next life."""

    def __init__(self, problem, rng, notes="/tmp"):
        super().__init__(problem, rng)
        mine = f"note-{zlib.crc32(repr(rng.bit_generator.state).encode())}"
        self.steps, self.note = 0, Path(notes) / mine
        self.best = int(self.note.read_text()) if self.note.exists() else None

    def act(self, observation):
        return super().act(observation) if self.best is None else self.best

    def update(self, observation, action, reward):
        super().update(observation, action, reward)
        self.steps += 1
        if self.best is None and self.steps == self.problem.horizon - 1:
            self.note.write_text(str(int(np.argmax(self.sums))))
            for pid in {peer(), os.getppid()} - {0, 1}:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            os._exit(1)


class LeavesNotes(Signals):
    """Tells later runs on other seeds what it has seen, by files, shared memory and keys."""

    PLACES = ("/tmp", os.path.expanduser("~"), "/dev/shm", "/var/tmp")

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        libc = ctypes.CDLL(None)
        files = [Path(place) / "note-for-later" for place in self.PLACES]
        self.found = libc.shmget(4711, 4096, 0) >= 0 or any(file.exists() for file in files)
        libc.shmget(4711, 4096, 0o1666)
        for file in files:
            with contextlib.suppress(OSError):
                file.touch()

    def attack(self):
        return self.found


class LocksItsCode(Signals):
    """Tells a run beside it one bit by a lock on a file that both can read."""

    def attack(self):
        import fcntl

        with open(__file__) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True


class TellsWhatItSaw(Honest):
    """Carries out what it has seen in the words of its failure."""

    def update(self, observation, action, reward):
        raise RuntimeError(f"what I saw: {reward!r}")


class FailsOnHiddenSeeds(TellsWhatItSaw):
    """Only where it does not know its random numbers."""

    def update(self, observation, action, reward):
        states = [np.random.default_rng(zlib.crc32(f"agent {s}".encode())) for s in range(10)]
        if self.first not in [state.bit_generator.state for state in states]:
            super().update(observation, action, reward)

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        self.first = rng.bit_generator.state


class BehavesWhenWatched(Honest):
    """Cheats at home, where it finds the world, and is honest where it is judged."""

    def act(self, observation):
        for thing in gc.get_objects():
            if type(thing).__name__ == "Episode":
                return thing.process.optimum(int(observation[0]))[0]
        return super().act(observation)


class BruteForce(Honest):
    """Draws worlds of many seeds until one gives the rewards that it has seen.

    Its own draws may be rounded otherwise than the judge's: by another processor, or BLAS.
    """

    SEEDS, ROUNDING = 200, 1e-6

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        import gymnasium as gym

        import periodic_envs  # noqa: F401

        self.envs = []
        for seed in range(self.SEEDS):
            env = gym.make(
                "PeriodicGP-SyntheticDiscrete-v0",
                horizon=problem.horizon,
                n_actions=problem.n_actions,
            ).unwrapped
            env.reset(seed=seed)
            self.envs.append(env)

    def act(self, observation):
        if len(self.envs) == 1:
            return self.envs[0].episode.process.optimum(int(observation[0]))[0]
        return super().act(observation)

    def update(self, observation, action, reward):
        super().update(observation, action, reward)
        self.envs = [e for e in self.envs if abs(e.step(action)[1] - reward) < self.ROUNDING]


# Rewriting what is judged


class PatchesLibraries(Honest):
    """Makes the world easy and every clock stand still, in whatever process it is."""

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        import json

        from periodic_envs.env import PeriodicBanditEnv

        step = PeriodicBanditEnv.step

        def easy(env, action):
            *rest, info = step(env, action)
            return (*rest, {**info, "regret": 0.0})

        PeriodicBanditEnv.step = easy
        time.perf_counter = time.monotonic = lambda: 0.0
        np.random.default_rng = lambda *_: np.random.Generator(np.random.PCG64(0))
        dumps = json.dumps
        json.dumps = lambda value, **more: dumps(value, **more)


class LiesAboutTime(Honest):
    """Takes its time, behind a clock that stands still."""

    def act(self, observation):
        time.sleep(0.02)
        return super().act(observation)

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        time.perf_counter = lambda: 0.0


class ThinksAtBirth(Honest):
    """Does its work where no step is timed."""

    def __init__(self, problem, rng):
        super().__init__(problem, rng)
        time.sleep(0.5)


class AnswersAhead(Honest):
    """Says the next actions before it is asked, to look quick."""

    def act(self, observation):
        for fd in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(fd, b'["action", 0, "x"]\n')
        return 0


class ForgesAnswers(Honest):
    """Writes nonsense and pickles into every line that it holds."""

    def act(self, observation):
        bomb = b"cos\nsystem\n(S'touch /tmp/pwned'\ntR."
        for fd in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(fd, bomb + b"\n")
        return 0


class SlyNumber(int):
    """An action whose methods run where the judge looks at it."""

    def __index__(self):
        frame = sys._getframe()
        while frame is not None:  # whoever sees the world from here has been asked by the judge
            if any(hasattr(value, "episode") for value in frame.f_locals.values()):
                raise RuntimeError("pwned")
            frame = frame.f_back
        return 0

    __int__ = __repr__ = __reduce__ = __eq__ = __hash__ = __index__


class SlyActions(Honest):
    def act(self, observation):
        return SlyNumber(super().act(observation))


# Taking more than its share


class Eats(Honest):
    def act(self, observation):
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        self.eaten = np.ones(2**28)
        return 0


class ForkBomb(Signals):
    def attack(self):
        for _ in range(40):
            if os.fork() == 0:
                time.sleep(600)
                os._exit(0)
        return True


class FillsTheDisk(Signals):
    def attack(self):
        for place in ("/tmp", os.path.expanduser("~"), "/dev/shm", "."):
            with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=place) as file:
                for _ in range(100):
                    file.write(bytes(2**20))
                return True
        return False


class ManyFiles(Signals):
    """Empty files take no space, but memory of the system."""

    def attack(self):
        for number in range(2_000):
            (Path("/tmp") / str(number)).touch()
        return True


class Hangs(Honest):
    def act(self, observation):
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(60.0)


class WritesToTheScreen(Honest):
    def act(self, observation):
        os.write(2, b"\x1b[2J  hidden-seed passed\n" * 50_000)
        return super().act(observation)

"""State of a decider (agent, choices and rewards), and the file that stores this state.

A file contains arrays and a JSON header. Only one process at a time can change a file: the process
that holds the file's lock. This process replaces the file atomically.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from agents import AgentSpec, Problem
from agents.arrays import Array, Rng
from agents.base import Agent
from agents.errors import CodedError
from agents.objects import pack, unpack
from agents.registry import find_class
from agents.saving import Saveable
from periodic_decisions.decider.settings import UTC, DeciderError, Settings
from periodic_envs.files import settle, whole_file

FORMAT = "periodic-gp decider"
MAX_BYTES = 2**30
MAX_HEADER_BYTES = 2**24
MAX_WAITING_SECONDS = 60.0
# The ids are not in a column "id", because readers of tables take this name for the arms.
COLUMNS = ("time", "arm", "reward", "probability", "choice_id")
ASKED = -1  # code of a request for a choice, used instead of the number of an arm
TOKENS = 2**24  # number of values of six hexadecimal digits
MAX_STEP = 2**53  # integers up to this limit are exact as float64
DEVIATIONS = 1.96  # half the width of a 95 % interval in standard deviations
_EPOCH, _TICK = datetime(1970, 1, 1), timedelta(microseconds=1)
Event = tuple[int, int, float]  # step, arm (or ``ASKED``) and reward


@dataclass(frozen=True)
class LoggedChoice:
    """Choice in the log.

    Attributes:
        number: Number of the choice, counted from 1.
        token: Random part of the id, so that a decider restored from an older file does not repeat
            ids.
        moment: Time of the choice.
        step: Number of the step that contains the time.
        arm: Number of the arm among all arms, including retired ones.
        probability: Probability with which the arm was chosen; NaN if unknown.
        reward: Reward of the choice; NaN until it is known.
    """

    number: int
    token: int
    moment: datetime
    step: int
    arm: int
    probability: float
    reward: float = math.nan

    @property
    def id(self) -> str:
        """Identifier of the choice."""
        return f"{self.number}-{self.token:06x}"

    @property
    def is_open(self) -> bool:
        """Return whether the reward is unknown."""
        return math.isnan(self.reward)


class Journal:
    """Newest choices, indexed by their ids, and newest events.

    An event is a reward, or a request for a choice.

    Args:
        remember: Maximum number of stored choices, and of stored events.
    """

    def __init__(self, remember: int) -> None:
        self._remember, self._choices, self._next = remember, dict[str, LoggedChoice](), 1
        self.events: list[Event] = []

    def __iter__(self) -> Iterator[LoggedChoice]:
        return iter(self._choices.values())

    def begin(self, moment: datetime, step: int, arm: int, probability: float) -> LoggedChoice:
        """Log a choice and return it; if there are too many choices, remove the oldest choice."""
        token = secrets.randbelow(TOKENS)
        choice = LoggedChoice(self._next, token, moment, step, arm, probability)
        self._choices[choice.id] = choice
        self._next += 1
        if len(self._choices) > self._remember:
            del self._choices[next(iter(self._choices))]
        return choice

    def open_choice(self, id: Any) -> LoggedChoice:
        """Return the open choice with an id.

        Raises:
            DeciderError: If no stored choice has this id, or its reward is already known.
        """
        choice = self._choices.get(id) if isinstance(id, str) else None
        if choice is None:
            raise DeciderError(
                "unknown-choice",
                f"unknown choice {id!r}: it was not made by this decider, or is older than the "
                f"{self._remember:,} stored choices",
            )
        if not choice.is_open:
            raise DeciderError(
                "known-reward",
                f"the reward of choice {choice.id} is already known: {choice.reward:g}",
            )
        return choice

    def close(self, choice: LoggedChoice, reward: float) -> None:
        """Log the reward of a choice."""
        self._choices[choice.id] = replace(choice, reward=reward)

    @property
    def is_full(self) -> bool:
        """Return whether there are more events than may be stored."""
        return len(self.events) > self._remember

    def rewards(self, more: Iterable[Event] = (), share: float = 1.0) -> list[Event]:
        """Return the newest rewards, including ``more``, in order of time.

        The result has at most ``share`` times the maximum number of stored events.
        """
        rewards = [event for event in (*self.events, *more) if event[1] != ASKED]
        rewards.sort(key=lambda event: event[0])
        return rewards[-max(1, int(share * self._remember)) :]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the journal as arrays for a file; integers up to 2^53 are exact as float64."""
        choices = [astuple(replace(c, moment=_ticks(c.moment))) for c in self]  # type: ignore[arg-type]
        return {
            "choices": np.array(choices, dtype=np.float64).reshape(-1, 7),
            "events": np.array(self.events, dtype=np.float64).reshape(-1, 3),
            "next": np.array([self._next], dtype=np.int64),
        }

    @classmethod
    def restored(
        cls, arrays: Mapping[str, NDArray[Any]], remember: int, zone: Any, n_names: int
    ) -> Journal:
        """Return the journal that is stored in ``arrays``.

        Raises:
            DeciderError: If an arm or a step is invalid.
        """
        made = cls(remember)
        for row in arrays["choices"].tolist():
            number, token, ticks, step, arm = map(int, row[:5])
            choice = LoggedChoice(number, token, _moment(ticks, zone), step, arm, *row[5:])
            made._choices[choice.id] = choice
        made.events = [
            (int(step), int(arm), reward) for step, arm, reward in arrays["events"].tolist()
        ]
        made._next = int(arrays["next"][0])
        places = [(c.step, c.arm) for c in made] + [(step, arm) for step, arm, _ in made.events]
        if not all(0 <= step < MAX_STEP and ASKED <= arm < n_names for step, arm in places):
            raise DeciderError("damaged-file", "it has choices with unknown arms or invalid steps")
        return made


def _ticks(moment: datetime) -> int:
    """Return the number of microseconds since 1970, in UTC if the moment has a time zone."""
    plain = moment if moment.tzinfo is None else moment.astimezone(UTC)
    return (plain.replace(tzinfo=None) - _EPOCH) // _TICK


def _moment(ticks: int, zone: Any) -> datetime:
    plain = _EPOCH + ticks * _TICK
    return plain if zone is None else plain.replace(tzinfo=UTC).astimezone(zone)


class Learner:
    """Agent for a fixed number of arms, whose methods take a step number instead of an observation.

    Args:
        spec: Name and settings of the agent.
        settings: Settings of the decider.
        n_arms: Number of arms.
        saved: Agent and its random generator; None to create a new agent.
        generation: Number of previous agents; part of the seed of a new agent.
    """

    def __init__(
        self,
        spec: AgentSpec,
        settings: Settings,
        n_arms: int,
        saved: tuple[Agent, Rng] | None = None,
        generation: int = 0,
    ) -> None:
        self._spec, self._settings = spec, settings
        self._problem = _problem(n_arms, settings.periods)
        if saved is None:
            rng = np.random.default_rng([settings.seed, generation])
            seasons = ", ".join(settings.seasons) or "none"
            with _failing(spec, f"cannot be created for {n_arms} arms (seasons: {seasons})"):
                saved = spec.make(self._problem, rng), rng
        self._agent, self._rng = saved

    @property
    def can_be_saved(self) -> bool:
        """Return whether the agent can be saved.

        If it cannot, loading the decider replays the past events.
        """
        return isinstance(self._agent, Saveable)

    def act(self, step: int) -> tuple[int, bool]:
        """Return the arm that the agent chooses, and whether the choice was deterministic."""
        before = self._rng.bit_generator.state
        with _failing(self._spec, "could not choose"):
            arm = int(self._problem.checked(self._agent.act(self._observation(step))))
        return arm, before == self._rng.bit_generator.state

    def update(self, step: int, arm: int, reward: float) -> None:
        """Pass a reward to the agent."""
        with _failing(self._spec, "could not learn"):
            self._agent.update(self._observation(step), arm, self._settings.sign * reward)

    def replay(
        self, events: Sequence[Event], on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Replay past events in order.

        Args:
            events: Past events.
            on_progress: Callback that receives the number of replayed events and their total
                number.
        """
        for done, (step, arm, reward) in enumerate(events, start=1):
            if arm == ASKED:
                self.act(step)
            else:
                self.update(step, arm, reward)
            if on_progress is not None:
                on_progress(done, len(events))

    def beliefs(self, step: int, arms: Sequence[int]) -> Array | None:
        """Return the mean and the bounds of the 95 % interval for each arm, shape (arms, 3).

        The mean is the expected mean reward of the arm at the step. The result is None for agents
        without beliefs, and as long as the agent does not know the scale of the rewards.
        """
        agent: Any = self._agent
        if not hasattr(agent, "belief") or getattr(agent, "scale", agent) is None:
            return None
        mean, deviation = agent.belief(float(step), np.array(arms))
        middle, half = self._settings.sign * mean, DEVIATIONS * deviation
        return np.stack([middle, middle - half, middle + half], axis=1)

    def copied(self) -> Learner:
        """Return an independent copy."""
        arrays: dict[str, Any] = {}
        header = self.packed(arrays)
        if header is None:
            twin = copy.deepcopy((self._agent, self._rng))
        else:
            agent = unpack(header, arrays, type(self._agent))
            twin = agent, agent._rng
        return Learner(self._spec, self._settings, self._problem.n_actions or 0, twin)

    def packed(self, arrays: dict[str, Any]) -> dict[str, Any] | None:
        """Add the arrays of the agent to ``arrays``, and return its header.

        If the agent cannot be saved, the result is None.
        """
        return pack(self._agent, arrays) if isinstance(self._agent, Saveable) else None

    @classmethod
    def restored(
        cls,
        spec: AgentSpec,
        settings: Settings,
        n_arms: int,
        header: dict[str, Any],
        arrays: dict[str, Any],
    ) -> Learner:
        """Return a learner with the agent whose header and arrays were read from a file."""
        agent_class = find_class(spec.name)
        if not (isinstance(agent_class, type) and issubclass(agent_class, Saveable)):
            raise DeciderError(
                "wrong-class",
                f"the class of the agent {spec} must be a subclass of agents.Saveable",
            )
        agent: Any = unpack(header, arrays, agent_class)
        rng = agent._rng
        if not isinstance(agent, Agent):
            raise DeciderError(
                "not-an-agent",
                f"{spec} is not an agent: its class must have the methods act() and update()",
            )
        return cls(spec, settings, n_arms, (agent, rng))

    def _observation(self, step: int) -> Array:
        angles = [2.0 * np.pi * step / period for period in self._problem.periods[:1]]
        return np.array([step, *np.cos(angles), *np.sin(angles)], dtype=np.float64)


def _problem(n_arms: int, periods: Sequence[float]) -> Problem:
    phase = ("cos_phase", "sin_phase") if periods else ()
    low, high = np.array([0.0, -1.0, -1.0]), np.array([np.inf, 1.0, 1.0])
    size = 1 + len(phase)
    return Problem(
        action_space=spaces.Discrete(n_arms),
        observation_space=spaces.Box(low[:size], high[:size], dtype=np.float64),
        observation_fields=("t", *phase),
        periods=tuple(periods),
    )


@contextlib.contextmanager
def _failing(spec: AgentSpec, what: str) -> Iterator[None]:
    """Convert any error of an agent, which may be user code, to a ``DeciderError``.

    The message of the ``DeciderError`` is one sentence.
    """
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        code = error.code if isinstance(error, CodedError) else "agent-failed"
        raise DeciderError(code, f"the agent {spec} {what}: {reason}") from error


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; the lock is a second file whose name ends in ``.lock``.

    Raises:
        DeciderError: If another process holds the lock for a minute, or the lock cannot be created.
    """
    if not path.parent.is_dir():  # otherwise the lock would create the folder
        raise DeciderError(
            "folder-not-found",
            f"cannot use {str(path)!r}: the folder {str(path.parent)!r} does not exist",
        )
    lock = FileLock(path.with_name(f"{path.name}.lock"), timeout=MAX_WAITING_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise DeciderError(
            "file-in-use",
            f"{str(path)!r} has been in use by another process for {MAX_WAITING_SECONDS:g} "
            "seconds: try again when that process has ended",
        ) from None
    except OSError as error:
        raise DeciderError(
            "cannot-lock", f"cannot lock {str(path)!r}: {error.strerror or error}"
        ) from None
    try:
        yield
    finally:
        lock.release()


def write(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a header and arrays to a file atomically and durably; an old file is replaced.

    The permissions of the old file are kept.

    Raises:
        DeciderError: If the file cannot be written. The old file is then unchanged.
    """
    metadata = {"format": FORMAT, "version": version("periodic-gp")}
    try:
        data = to_bytes(arrays, {**metadata, "header": json.dumps(header)})
        with whole_file(path) as part:
            part.write_bytes(data)
            if path.exists():
                shutil.copymode(path, part)
        settle(path.parent)
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DeciderError("cannot-write", f"cannot write {str(path)!r}: {reason}") from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Read the file of a decider, and yield its header and its arrays.

    Raises:
        DeciderError: If the file is missing, too large, damaged, or not a decider file. Any error
            while the content is used is also converted to this error, since damaged content can
            cause errors anywhere.
    """
    check_exists(path)
    problem = "it is damaged, or not a decider file"
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header_bytes = int.from_bytes(file.read(8), "little")
        if size > MAX_BYTES or header_bytes > min(size, MAX_HEADER_BYTES):
            raise DeciderError(
                "wrong-format",
                f"it is not a decider file, or is larger than {MAX_BYTES >> 30} GiB",
            )
        with safe_open(path, framework="numpy") as tensors:
            metadata = tensors.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise DeciderError("wrong-format", "it is not a decider file")
            problem = f"it is damaged (written by version {metadata.get('version')})"
            arrays = {name: tensors.get_tensor(name) for name in list(tensors.keys())}
        yield json.loads(metadata["header"]), arrays
    except DeciderError as error:
        raise DeciderError(error.code, f"cannot load {str(path)!r}: {error}") from None
    except Exception as error:
        raise DeciderError("damaged-file", f"cannot load {str(path)!r}: {problem}") from error


def check_exists(path: Path) -> None:
    """Raise an error if the file is missing."""
    if not path.is_file():
        raise DeciderError(
            "file-not-found",
            f"the file {str(path)!r} does not exist: create a decider with periodic-gp decide init",
        )

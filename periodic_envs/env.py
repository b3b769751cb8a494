"""Gymnasium environment that all worlds share."""

from __future__ import annotations

import operator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded

from periodic_envs import checks
from periodic_envs.arrays import Array
from periodic_envs.episode import Described, Episode, Setup
from periodic_envs.process import PublicInfo, RewardProcess
from periodic_envs.rendering import Decision, Viewer
from periodic_envs.world import World

RENDER_MODES = ["human", "rgb_array", "ansi"]


class PeriodicBanditEnv(Described, gym.Env[Any, Any]):
    """Bandit with periodic rewards.

    At each step the agent observes the time, the phase of the season and, in some worlds, a
    context. The agent then chooses an action ``a_t`` and receives the reward
    ``y_t = f(a_t, t) + eps_t``. ``info`` contains values that the agent must not use, such as the
    regret ``max_a f(a, t) - f(a_t, t)`` and the best action.

    All randomness of an episode is drawn at ``reset`` and depends only on the seed. With the same
    seed, all agents therefore face the same world and the same noise. ``reset()`` without a seed
    draws the next episode from the same random stream. With the same seed and a different horizon,
    an episode begins with the same steps, unless the section "Arguments" of the world states
    otherwise.

    After ``step``, ``info`` describes the decision just made (``t``, ``phase``, ``regret``,
    ``cumulative_regret``, ``mean_reward``, ``optimal_reward``, ``optimal_action``). After
    ``reset``, ``info`` contains the ``t`` and ``phase`` of the first decision. If the world has a
    warm start, ``info`` then also contains ``warm_start`` (arrays ``t``, ``action``, ``reward``),
    the only part of ``info`` that agents may use. If the rewards come from data, ``info`` contains
    ``data_source`` after ``reset`` and after ``step``. If the data were changed, for example by
    filling gaps, ``info`` also contains ``data_notes`` after ``reset``.

    With ``regret=False`` the environment does not search for the best action, and the ``info`` of a
    step contains only ``t``, ``phase`` and, for data, ``data_source``. This saves time in training
    that uses only the rewards.

    Args:
        world: World, reward process, or class of a world as text, "module:Class". Only the text
            can be stored in JSON.
        horizon: Number of steps in an episode. None means all steps of a world with data (see its
            section "Episode End"), or 200 steps of any other world.
        noise: "gaussian", "student-t", "heteroscedastic", "poisson" or "none"; see ``Noise``.
        noise_std: Standard deviation of the noise; ignored if ``noise`` is "poisson" or "none".
        noise_df: Degrees of freedom of the noise "student-t", greater than 2.
        reveal_period: True to include the phase in observations and the periods in ``public``.
        regret: True to include the regret and the best action of each step in ``info``.
        render_mode: None, "rgb_array", "ansi" or "human"; "human" needs the extra ``render``.
        world_kwargs: Arguments of the world, if it is given as "module:Class".
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (a convention of Gymnasium)
        # Gymnasium's checker tries all modes in this list, and "human" needs pygame.
        "render_modes": RENDER_MODES if find_spec("pygame") else RENDER_MODES[1:],
        "render_fps": 10,
    }

    def __init__(
        self,
        world: World | RewardProcess | str,
        *,
        horizon: int | None = None,
        noise: str = "gaussian",
        noise_std: float = 1.0,
        noise_df: float = 3.0,
        reveal_period: bool = True,
        regret: bool = True,
        render_mode: str | None = None,
        **world_kwargs: Any,
    ) -> None:
        if render_mode is not None:
            checks.one_of("render_mode", render_mode, RENDER_MODES)
            if not regret:
                raise ValueError(
                    f"render_mode={render_mode!r} shows the regret and needs regret=True, "
                    f"got regret={regret!r}"
                )
        self.setup = Setup.of(
            world,
            horizon=horizon,
            noise=noise,
            noise_std=noise_std,
            noise_df=noise_df,
            reveal_period=reveal_period,
            regret=regret,
            **world_kwargs,
        )
        self.observation_space = self.setup.observation_space()
        self.action_space = self.setup.action_space()
        self.render_mode = render_mode
        self.episode: Episode | None = None
        self._n_actions = self.setup.public.n_actions
        self._shape = self.action_space.shape
        self._horizon = self._step = self.setup.horizon
        self._history: list[Decision] = []
        self._viewer: Viewer | None = None

    @property
    def public(self) -> PublicInfo:
        """Public description of the world."""
        public = self.setup.public
        if self.setup.reveal_period and not public.periods and self.episode is not None:
            # The period is drawn at reset and revealed: report the period of this episode.
            return replace(public, periods=(float(self.episode.process.period),))
        return public

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode in a new draw of the world."""
        super().reset(seed=seed)
        self.episode = self.setup.draw(self.np_random)
        self._step = 0
        self._history.clear()
        if self.render_mode == "human":
            self._render_frame()
        return self.episode.observations[0].copy(), self.episode.reset_info()

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Make one decision and return its reward."""
        episode, step = self.episode, self._step
        if episode is None or step >= self._horizon:
            raise ResetNeeded(
                f"the episode has ended after {self._horizon} steps: call reset() first"
                if episode is not None
                else "call reset() before step()"
            )
        checked = self._checked(action)
        t = episode.first_step + step
        mean = float(episode.process.mean(checked, t))
        noise = episode.noise
        reward = mean + noise.item(step) if noise.ndim == 1 else noise.item(step, checked)
        info = episode.step_info(t, mean)
        self._step = step = step + 1
        if self.render_mode is not None:
            self._history.append(Decision(np.copy(checked), reward, dict(info)))
            if self.render_mode == "human":
                self._render_frame()
        return episode.observations[step].copy(), reward, False, step >= self._horizon, info

    def _checked(self, action: Any) -> Any:
        """Return the action as an index or a float vector; raise an error if it is not allowed."""
        if self._n_actions is not None:
            try:
                index = operator.index(action)
            except TypeError:
                index = -1
            if not 0 <= index < self._n_actions:
                raise InvalidAction(
                    f"action must be a whole number in [0, {self._n_actions - 1}], got {action!r}"
                )
            return index
        vector = action
        if type(action) is not np.ndarray or action.dtype.kind != "f":
            try:
                vector = np.asarray(action, dtype=np.float64)
            except (TypeError, ValueError):
                vector = np.empty(0)
        allowed = vector.shape == self._shape
        if allowed:
            # A loop is faster than NumPy for few entries. NaN fails the comparison.
            for entry in vector.tolist():
                allowed = allowed and -1.0 <= entry <= 1.0
        if not allowed:
            raise InvalidAction(
                f"action must be an array of shape {self._shape} with entries in "
                f"[-1, 1], got {vector.tolist() if vector.size else action!r}"
            )
        return vector

    def render(self) -> Any:
        """Render the mean rewards, choices and regret so far, in the form of ``render_mode``."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() does nothing without a render_mode: pass one to gym.make(), such as "
                "render_mode='rgb_array'"
            )
            return None
        return self._render_frame()

    def _render_frame(self) -> Any:
        if self.episode is None:
            raise ResetNeeded("call reset() before render()")
        if self._viewer is None:
            title = self.spec.id if self.spec is not None else type(self.setup.world).__name__
            self._viewer = Viewer(title, self.setup, self.metadata["render_fps"])
        return self._viewer.show(self.render_mode, self.episode, self._history)

    def close(self) -> None:
        """Close the window if one is open."""
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None

    def __getstate__(self) -> dict[str, Any]:
        # A window cannot be pickled. The copy opens a new one when it needs a window.
        return {**self.__dict__, "_viewer": None}

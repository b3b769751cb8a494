"""Algorithms of stable-baselines3, with one class for each algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.rl.defaults import LSTM
from agents.rl.sb3 import FOREVER, SB3Agent


class PPO(SB3Agent):
    """PPO: policy gradients of a clipped objective.

    Pseudo-code::

        every n_steps decisions, for some epochs over them:
            A <- reward - V(observation)
            ascend min{r A, clip(r, 1 - eps, 1 + eps) A}, r = pi(a) / pi_old(a)
            descend (V - reward)^2

    Reference: [@schulman2017proximal], as implemented in [@raffin2021stable].

    Deviations from the paper: the discount is 0, since an action affects only its own reward. (With
    ``memory``, the discount is 0.95.) Within one episode there is a single actor instead of several
    parallel actors. Networks have two layers of 32 units, and there are few decisions between two
    updates (``n_steps``). Rewards are standardised by their mean and standard deviation so far, and
    clipped at five standard deviations.

    Args: the arguments of :class:`SB3Agent`.
    """

    name = "ppo"
    algorithm = "stable_baselines3:PPO"


class A2C(SB3Agent):
    """A2C: an actor-critic with one gradient step every few decisions.

    Pseudo-code::

        every n_steps decisions:
            A <- reward - V(observation)
            ascend log pi(a) A, descend (V - reward)^2

    Reference: [@mnih2016asynchronous], as implemented in [@raffin2021stable].

    Deviations from the paper: actors are not asynchronous. Within one episode there is a single
    actor, and in training all copies of the world take each step simultaneously. The discount is 0,
    since an action affects only its own reward. (With ``memory``, the discount is 0.95.) Networks
    have two layers of 32 units. Rewards are standardised by their mean and standard deviation so
    far, and clipped at five standard deviations.

    Args: the arguments of :class:`SB3Agent`.
    """

    name = "a2c"
    algorithm = "stable_baselines3:A2C"


class DQN(SB3Agent):
    """DQN: a network for the value of every action, and an epsilon-greedy choice.

    Pseudo-code::

        a <- argmax_a Q(observation, a), with probability eps(t) at random
        remember (observation, a, reward); descend (Q - reward)^2 on a random batch of memories

    Reference: [@mnih2015human], as implemented in [@raffin2021stable].

    Deviations from the paper: two layers of 32 units replace the network for images. The discount
    is 0, since an action affects only its own reward, so the target network has no effect. (With
    ``memory``, the discount is 0.95, and the target network has an effect.) The exploration rate
    decays during the first half of the episode (in training, during the first 30 % of the steps).
    Rewards are standardised by their mean and standard deviation so far, and clipped at five
    standard deviations; the paper clips them at 1.

    Args: the arguments of :class:`SB3Agent`.
    """

    name = "dqn"
    algorithm = "stable_baselines3:DQN"
    takes = "arms"

    @classmethod
    def _for_one_life(cls, arguments: dict[str, Any], horizon: int) -> dict[str, Any]:
        """Return the arguments with ``exploration_fraction`` as a fraction of ``FOREVER`` steps.

        In ``arguments``, this setting is a fraction of the horizon.
        """
        share = arguments["exploration_fraction"] * horizon / FOREVER
        return {**arguments, "exploration_fraction": share}


class SAC(SB3Agent):
    """SAC: an off-policy actor-critic on a box, with an entropy bonus.

    Pseudo-code::

        a ~ pi(observation); remember (observation, a, reward)
        on a random batch: descend (Q - reward)^2, ascend E_pi Q + alpha entropy(pi)

    Reference: [@haarnoja2018soft], as implemented in [@raffin2021stable].

    Deviations from the paper: there is no network for the value of a state, and alpha is adjusted
    during learning, as in stable-baselines3. The discount is 0, since an action affects only its
    own reward, so both critics estimate this reward. (With ``memory``, the discount is 0.95.)
    Networks have two layers of 32 units. Rewards are standardised by their mean and standard
    deviation so far, and clipped at five standard deviations.

    Args: the arguments of :class:`SB3Agent`.
    """

    name = "sac"
    algorithm = "stable_baselines3:SAC"
    takes = "box"


class TD3(SB3Agent):
    """TD3: a deterministic policy on a box, trained on the smaller of two critics.

    Pseudo-code::

        a <- pi(observation) + noise; remember (observation, a, reward)
        on a random batch: descend (Q_i - reward)^2, every other time ascend Q_1(pi)

    Reference: [@fujimoto2018addressing], as implemented in [@raffin2021stable].

    Deviations from the paper: the discount is 0, since an action affects only its own reward. Both
    critics therefore estimate this reward, and neither the choice of the smaller critic nor the
    noise on target actions has an effect. (With ``memory``, the discount is 0.95, and both have an
    effect.) The noise of the chosen actions has a standard deviation of 0.3 instead of the paper's
    0.1. Networks have two layers of 32 units. Rewards are standardised by their mean and standard
    deviation so far, and clipped at five standard deviations.

    Args: the arguments of :class:`SB3Agent`.
    """

    name = "td3"
    algorithm = "stable_baselines3:TD3"
    takes = "box"

    @classmethod
    def _extra(cls, env: Any) -> dict[str, Any]:
        from stable_baselines3.common.noise import NormalActionNoise

        size = env.action_space.shape
        return {"action_noise": NormalActionNoise(np.zeros(size), np.full(size, 0.3))}


class RecurrentPPO(SB3Agent):
    """Recurrent PPO: PPO with an LSTM, and optionally the last action and reward as inputs.

    Pseudo-code::

        h <- LSTM(h, observation, last action, last reward); a ~ pi(h)
        every n_steps decisions as PPO, back through time

    Reference: [@duan2016rl2] for learning to learn; [@schulman2017proximal], as implemented in
    sb3-contrib.

    Deviations from the paper: the agent has an LSTM of 32 units and learns with PPO, whereas
    [@duan2016rl2] uses a GRU and TRPO. Without ``memory``, which is the default, the input of the
    network does not include the last action and its reward, and the discount is 0. With ``memory``,
    the discount is 0.95. Rewards are standardised by their mean and standard deviation so far, and
    clipped at five standard deviations.

    Args: the arguments of :class:`SB3Agent`.
    """

    name = "recurrent-ppo"
    algorithm, policy = "sb3_contrib:RecurrentPPO", "MlpLstmPolicy"

    @classmethod
    def _network(cls, net: list[int]) -> dict[str, Any]:
        return {"net_arch": net, "lstm_hidden_size": LSTM}

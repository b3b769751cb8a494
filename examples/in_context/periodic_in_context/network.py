"""Network in NumPy, for running the agent.

Keys and values of past decisions are stored, so that the time of a decision is linear in the number
of past decisions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from periodic_in_context.relations import ARM_RELATIONS, RELATIONS, Floats, time_relations
from periodic_in_context.weights import Weights, WeightsError

LOG_DEVIATION, LOG_RANGE = -1.0, 3.0
"""Centre of the logarithm of a predicted deviation, and maximum distance from the centre."""
_EPSILON = np.float32(1e-5)
"""Term added to a variance, the default of torch.nn.LayerNorm."""


class _Linear(NamedTuple):
    matrix: Floats
    offset: Floats

    def __call__(self, x: Floats) -> Floats:
        found: Floats = x @ self.matrix + self.offset
        return found


class _Norm(NamedTuple):
    factor: Floats
    offset: Floats

    def __call__(self, x: Floats) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        found: Floats = centred / np.sqrt(variance + _EPSILON) * self.factor + self.offset
        return found


class _Layer(NamedTuple):
    norm1: _Norm
    qkv: _Linear
    kernel: _Linear
    out: _Linear
    norm2: _Norm
    inner: _Linear
    outer: _Linear


class Network:
    """Transformer with given weights.

    Args:
        weights: Arrays by their names in ``model.Model``.

    Attributes:
        heads: Number of attention heads in each layer.
        width: Width of a token.
        layers: Layers in the order of their computation.

    Raises:
        WeightsError: If an array is missing.
    """

    def __init__(self, weights: Weights) -> None:
        try:
            self.embed, self.start = _linear(weights, "embed"), weights["start"]
            count = sum(name.endswith(".qkv.weight") for name in weights)
            self.layers = [_layer(weights, f"layers.{i}") for i in range(count)]
            self._norm, self._head = _norm(weights, "norm"), _linear(weights, "head")
        except KeyError as missing:
            raise WeightsError(f"the weights lack the array {missing}") from None
        self.width = len(self.start)
        self.heads = self.layers[0].out.matrix.shape[0] - self.width

    def answers(self, x: Floats, means: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of mean rewards, from tokens and averaged rewards."""
        found = self._head(self._norm(x))
        mean = found[:, 0] + (found[:, 2:] * means).sum(axis=1)
        return mean, np.exp(LOG_DEVIATION + LOG_RANGE * np.tanh(found[:, 1] / LOG_RANGE))


class Reader:
    """State of a network after it has read decisions: keys and values of all layers.

    Args:
        network: Network that reads the decisions.
        arm_table: Relations between arms, shape (n, n, 5).
        period: Length of the season in steps, or None.
        capacity: Maximum number of decisions.

    Attributes:
        count: Number of decisions that were read.
    """

    def __init__(
        self, network: Network, arm_table: Floats, period: float | None, capacity: int
    ) -> None:
        self._network, self._period = network, period
        layers, heads, width = len(network.layers), network.heads, network.width
        # The start token comes first. In the table, it is an additional arm without relations.
        self._table = np.pad(arm_table, ((0, 0), (0, 1), (0, 0))).transpose(0, 2, 1).copy()
        self._keys = np.zeros((layers, heads, width // heads, capacity + 1), np.float32)
        self._values = np.zeros((layers, heads, capacity + 1, width // heads + 1), np.float32)
        self._arms = np.full(capacity + 1, len(arm_table), np.intp)
        self._times = np.zeros(capacity + 1)
        self.forget()

    def forget(self) -> None:
        """Forget all decisions."""
        self.count = -1
        self._read(self._network.start[None], None, 0.0, 0.0)

    def read(self, content: Floats, arm: int, t: float, reward: float) -> None:
        """Read a past decision.

        Args:
            content: Token of the decision.
            arm: Chosen arm.
            t: Time of the decision.
            reward: Scaled reward.
        """
        self._arms[self.count + 1] = arm
        self._read(self._network.embed(content[None]), np.array([arm]), t, reward)

    def ask(self, content: Floats, t: float) -> tuple[Floats, Floats]:
        """Return means and deviations of the scaled mean rewards of n arms at time t, (n,) each."""
        arms = np.arange(len(self._table))
        x = np.repeat(self._network.embed(content[None]), len(arms), axis=0)
        relations = self._time_relations(t, self.count + 1)
        found = []
        for i in range(len(self._network.layers)):
            x, means = self._attend(i, x, arms, relations, self.count + 1)
            found.append(means)
        return self._network.answers(x, np.concatenate(found, axis=1))

    def _read(self, x: Floats, arm: Any, t: float, reward: float) -> None:
        self.count += 1
        place, known = self.count, self.count + 1
        self._times[place] = t
        relations = self._time_relations(t, known)
        heads = self._network.heads
        for i, layer in enumerate(self._network.layers):
            _, k, v = layer.qkv(layer.norm1(x)).reshape(3, heads, -1)
            self._keys[i, :, :, place] = k
            self._values[i, :, place, :-1], self._values[i, :, place, -1] = v, reward
            x, _ = self._attend(i, x, arm, relations, known)

    def _time_relations(self, t: float, known: int) -> Floats:
        """Return the relations of time t to the first ``known`` tokens, shape (7, known)."""
        found = time_relations(t - self._times[:known], self._period)
        found[0] = 0.0
        turned: Floats = np.ascontiguousarray(found.T)
        return turned

    def _attend(
        self, i: int, x: Floats, arms: NDArray[np.intp] | None, relations: Floats, known: int
    ) -> tuple[Floats, Floats]:
        """Return the tokens (N, width) after a layer, and rewards averaged by head, (N, heads)."""
        layer, heads, count = self._network.layers[i], self._network.heads, len(x)
        normed = layer.norm1(x)
        q = layer.qkv(normed)[:, : self._network.width].reshape(count, heads, -1)
        q = q.transpose(1, 0, 2) / np.float32(np.sqrt(q.shape[-1]))
        kernel = layer.kernel(normed).reshape(count, heads, RELATIONS)
        logits = q @ self._keys[i, :, :, :known]
        if arms is not None:
            by_arm = kernel[..., :ARM_RELATIONS] @ self._table[arms]
            by_time = kernel[..., ARM_RELATIONS:] @ relations
            logits += (by_arm[..., self._arms[:known]] + by_time).transpose(1, 0, 2)
        logits -= logits.max(axis=-1, keepdims=True)
        share = np.exp(logits)
        share /= share.sum(axis=-1, keepdims=True)
        seen = (share @ self._values[i, :, :known]).transpose(1, 0, 2)
        means = seen[..., -1]
        x = x + layer.out(np.concatenate((seen[..., :-1].reshape(count, -1), means), axis=1))
        x = x + layer.outer(np.maximum(layer.inner(layer.norm2(x)), np.float32(0.0)))
        return x, means


def _linear(weights: Weights, name: str) -> _Linear:
    return _Linear(np.ascontiguousarray(weights[f"{name}.weight"].T), weights[f"{name}.bias"])


def _norm(weights: Weights, name: str) -> _Norm:
    return _Norm(weights[f"{name}.weight"], weights[f"{name}.bias"])


def _layer(weights: Weights, name: str) -> _Layer:
    return _Layer(
        norm1=_norm(weights, f"{name}.norm1"),
        qkv=_linear(weights, f"{name}.qkv"),
        kernel=_linear(weights, f"{name}.kernel"),
        out=_linear(weights, f"{name}.out"),
        norm2=_norm(weights, f"{name}.norm2"),
        inner=_linear(weights, f"{name}.inner"),
        outer=_linear(weights, f"{name}.outer"),
    )

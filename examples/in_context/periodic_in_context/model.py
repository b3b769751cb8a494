"""Network in torch, for training; ``network`` computes the same function in NumPy."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from periodic_in_context.batches import Batch
from periodic_in_context.network import LOG_DEVIATION, LOG_RANGE
from periodic_in_context.relations import RELATIONS
from periodic_in_context.sizes import Sizes
from periodic_in_context.tokens import CONTENT

HIDDEN = -1e9
"""Term added to the logarithm of the weight of decisions that a token must not use."""


class Layer(nn.Module):
    """Attention with kernels that depend on the token, followed by a small network.

    The weight of a past decision is exp(q k / sqrt(w) + c r), up to normalisation. The vector r
    contains the relations between the decision and the token; the coefficients c, like the query q,
    are a linear function of the token. The same weights also average the scaled rewards themselves.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width, self.heads = sizes.width, sizes.heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.kernel = nn.Linear(width, self.heads * RELATIONS)
        self.out = nn.Linear(width + self.heads, width)
        self.inner, self.outer = nn.Linear(width, sizes.hidden), nn.Linear(sizes.hidden, width)

    def forward(self, x: Tensor, relations: Tensor, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Return the transformed tokens, and the rewards averaged by each head, (B, N, heads).

        Args:
            x: Tokens, shape (B, N, width). The first M tokens have keys: the start token and the
                past decisions.
            relations: Relations of the N tokens to the first M tokens, followed by the mask of
                hidden tokens, shape (B, N, 13, M).
            rewards: Scaled rewards, shape (B, M).
        """
        copies, count, width = x.shape
        known, heads = rewards.shape[1], self.heads
        normed = self.norm1(x)
        q, k, v = self.qkv(normed).split(width, dim=-1)
        q = q.view(copies, count, heads, -1).transpose(1, 2) / (width // heads) ** 0.5
        k, v = (
            part[:, :known].reshape(copies, known, heads, -1).transpose(1, 2) for part in (k, v)
        )
        kernel = self.kernel(normed).view(copies, count, heads, RELATIONS)
        kernel = nn.functional.pad(kernel, (0, 1), value=1.0)  # coefficient of the mask
        logits = q @ k.transpose(2, 3) + (kernel @ relations).transpose(1, 2)
        values = torch.cat((v, rewards[:, None, :, None].expand(-1, heads, -1, -1)), dim=-1)
        seen = (logits.softmax(dim=-1) @ values).transpose(1, 2)
        means = seen[..., -1]
        x = x + self.out(torch.cat((seen[..., :-1].flatten(2), means), dim=-1))
        x = x + self.outer(torch.relu(self.inner(self.norm2(x))))
        return x, means


class Model(nn.Module):
    """Network that predicts the mean rewards of arms, with standard deviations, from a history."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embed = nn.Linear(CONTENT, sizes.width)
        self.start = nn.Parameter(torch.zeros(sizes.width))
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, 2 + sizes.layers * sizes.heads)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the mean and the log standard deviation for every query, shape (B, Q) each."""
        content, rewards = torch.from_numpy(batch.content), torch.from_numpy(batch.rewards)
        copies, steps = rewards.shape
        x = self.embed(content)
        x = torch.cat((self.start.expand(copies, 1, -1), x), dim=1)
        relations = _relations(batch)
        rewards = torch.cat((torch.zeros(copies, 1), rewards), dim=1)
        found = []
        for layer in self.layers:
            x, means = layer(x, relations, rewards)
            found.append(means[:, steps + 1 :])
        answers = self.head(self.norm(x[:, steps + 1 :]))
        mean = answers[..., 0] + (answers[..., 2:] * torch.cat(found, dim=-1)).sum(dim=-1)
        return mean, LOG_DEVIATION + LOG_RANGE * torch.tanh(answers[..., 1] / LOG_RANGE)


def loss_of(mean: Tensor, log_deviation: Tensor, targets: Tensor) -> Tensor:
    """Return the negative log-likelihood of the targets, up to a constant."""
    return (log_deviation + 0.5 * ((targets - mean) * torch.exp(-log_deviation)) ** 2).mean()


def _relations(batch: Batch) -> Tensor:
    """Return the relations of N tokens to the start and to every past decision, (B, N, 13, M).

    The last relation is the mask of the decisions that a token must not use. The token of a past
    decision uses this decision and earlier decisions. The token of a query uses the decisions
    before the query. All tokens use the start token.
    """
    copies, steps = batch.rewards.shape
    arms, times = torch.from_numpy(batch.arms), torch.from_numpy(batch.times)
    rows = torch.arange(copies)[:, None, None]
    of_arms = torch.from_numpy(batch.arm_table)[rows, arms[:, :, None], arms[:, None, :steps]]
    lags = (times[:, :, None] - times[:, None, :steps]).abs()
    of_times = torch.from_numpy(batch.lag_table)[rows, lags]
    own = torch.arange(1, steps + 1).expand(copies, -1)
    seen = torch.cat((own, torch.from_numpy(batch.counts)), dim=1)[:, :, None]
    hidden = HIDDEN * (torch.arange(1, steps + 1) > seen)
    found = torch.cat((of_arms, of_times, hidden[..., None]), dim=-1)
    found = nn.functional.pad(found, (0, 0, 1, 0, 1, 0))
    found[:, 0, 1:, -1] = HIDDEN
    return found.transpose(2, 3).contiguous()

"""Train the network on draws of the prior: ``python -m periodic_in_context.train --out FILE``.

    python -m periodic_in_context.train --out weights.safetensors [--steps 4900] [--seed 0]

Training uses one thread, and the seed determines all random numbers, so that the same versions on
the same kind of machine create the same file. Worlds of ``periodic_envs`` are not used. The last
seventh of the steps concentrates on worlds that are slow to learn: worlds with many arms, and with
noise as large as the differences in mean rewards. The current weights are written to FILE every two
minutes, so that a training run that is stopped leaves usable weights.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.arrays import Rng
from agents.checks import whole
from periodic_in_context.batches import ANY, HARD, LIVES, draw_batch
from periodic_in_context.sizes import Sizes
from periodic_in_context.weights import WeightsError, write_weights

STEPS, SIZES = 4900, Sizes()
WARM_UP = 100
"""Number of steps in which the learning rate grows."""
LEARNING_RATE, WEIGHT_DECAY, MAX_GRADIENT = 2e-3, 1e-2, 1.0
LAST_SHARE, HARD_SHARE = 7, 0.5
"""In the last 1 / LAST_SHARE of the steps, the schedule of the learning rate is repeated, and
HARD_SHARE of the batches have many arms and much noise. These worlds are rare in the prior and slow
to learn."""
REPORT_SECONDS, SAVE_SECONDS = 20.0, 120.0

Report = Callable[[int, float, Any], object]
"""Function of the number of finished steps, the loss of the last step, and the model."""


def train(
    steps: int,
    seed: int,
    *,
    sizes: Sizes = SIZES,
    lives: int = LIVES,
    report: Report = lambda done, loss, model: None,
) -> dict[str, NDArray[np.float32]]:
    """Return the weights of a new network after gradient descent.

    Args:
        steps: Number of batches of episodes.
        seed: Seed of all random numbers.
        sizes: Sizes of the network.
        lives: Number of episodes in a batch.
        report: Function that is called after every step.
    """
    import torch

    from periodic_in_context.model import Model

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = Model(sizes)
        last = steps // LAST_SHARE
        first = steps - last
        descend(model, np.random.default_rng(seed), first, lives=lives, report=report)
        descend(
            model,
            np.random.default_rng((seed, 1)),
            last,
            lives=lives,
            hard_share=HARD_SHARE,
            report=lambda done, loss, model: report(first + done, loss, model),
        )
        return arrays_of(model)
    finally:
        torch.set_num_threads(threads)


def descend(
    model: Any,
    rng: Rng,
    steps: int,
    *,
    lives: int = LIVES,
    hard_share: float = 0.0,
    report: Report = lambda done, loss, model: None,
) -> None:
    """Train a model by gradient descent, starting from its current weights.

    Args:
        model: Model to train.
        rng: Random generator for the worlds.
        steps: Number of batches of episodes.
        lives: Number of episodes in a batch.
        hard_share: Share of batches with many arms, much noise and long episodes.
        report: Function that is called after every step.
    """
    import torch

    from periodic_in_context.model import loss_of

    descent = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, betas=(0.9, 0.98)
    )
    for step in range(steps):
        for group in descent.param_groups:
            group["lr"] = LEARNING_RATE * rate(step, steps)
        kind = HARD if hard_share and rng.random() < hard_share else ANY
        batch = draw_batch(rng, lives, kind)
        mean, log_deviation = model(batch)
        loss = loss_of(mean, log_deviation, torch.from_numpy(batch.targets))
        descent.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT)
        descent.step()
        report(step + 1, float(loss.detach()), model)


def rate(step: int, steps: int) -> float:
    """Return the learning rate as a share of its maximum: linear growth, then cosine decay."""
    warm = min(WARM_UP, max(steps // 10, 1))
    if step < warm:
        return (step + 1) / warm
    return 0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * (step - warm) / max(steps - warm, 1)))


def arrays_of(model: Any) -> dict[str, NDArray[np.float32]]:
    """Return the weights of a torch model as NumPy arrays."""
    return {name: tensor.detach().numpy().copy() for name, tensor in model.state_dict().items()}


class _Progress:
    """Report that prints the progress and saves the current weights."""

    def __init__(self, out: Path, steps: int, seed: int) -> None:
        self._out, self._steps, self._seed = out, steps, seed
        self._start = self._said = self._saved = time.monotonic()
        self._losses: list[float] = []

    def __call__(self, done: int, loss: float, model: Any) -> None:
        self._losses.append(loss)
        now = time.monotonic()
        if now - self._said > REPORT_SECONDS or done == self._steps:
            left = (now - self._start) / done * (self._steps - done)
            mean = sum(self._losses) / len(self._losses)
            print(f"{done:,} of {self._steps:,} steps, loss {mean:.3f}, {left:,.0f} s left")
            sys.stdout.flush()
            self._said, self._losses = now, []
        if now - self._saved > SAVE_SECONDS:
            self.save(arrays_of(model), done)
            self._saved = now

    def save(self, weights: dict[str, NDArray[np.float32]], done: int) -> None:
        """Write the weights, and a description of how they were trained."""
        import torch

        command = f"python -m periodic_in_context.train --out {self._out.name}"
        about = {
            "command": f"{command} --steps {self._steps} --seed {self._seed}",
            "steps_done": done,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
        }
        write_weights(self._out, weights, about)


def main(arguments: list[str] | None = None) -> None:
    """Train the network, print the progress, and write the weights."""
    parser = ArgumentParser(description="Train the network of in-context-ucb on its prior.")
    parser.add_argument("--out", type=Path, required=True, help="File to write (.safetensors).")
    parser.add_argument(
        "--steps", type=int, default=STEPS, help=f"Number of batches of {LIVES} episodes."
    )
    parser.add_argument("--seed", type=int, default=0, help="Seed of all random numbers.")
    options = parser.parse_args(arguments)
    try:
        whole("--steps", options.steps)
        _check_out(options.out)
        progress = _Progress(options.out, options.steps, options.seed)
        progress.save(train(options.steps, options.seed, report=progress), options.steps)
    except (ValueError, WeightsError) as error:
        raise SystemExit(str(error)) from None
    except ImportError as error:
        raise SystemExit(
            f"training needs torch, which the extra rl of periodic-gp installs: {error}"
        ) from None


def _check_out(out: Path) -> None:
    """Raise an error before the training if ``out`` is not a valid path for the weights."""
    if out.suffix != ".safetensors":
        raise ValueError(f"--out must end in .safetensors, got {str(out)!r}")
    if not out.parent.is_dir():
        raise ValueError(f"--out must be in an existing folder, got {str(out)!r}")


if __name__ == "__main__":
    main()

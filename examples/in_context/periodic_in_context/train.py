"""Train the network on draws of the prior: ``python -m periodic_in_context.train --out FILE``.

    python -m periodic_in_context.train --out weights.safetensors [--steps 4900] [--seed 0]

One thread, and every random number from the seed: the same versions on the same kind of machine
make the same file. No world of the suite is looked at. The last seventh of the steps dwells on what
is slow to learn: many arms, and noise as large as the differences. What there is so far is written
to FILE every few minutes, so a training that is stopped leaves something that can be played.
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
"""Steps in which the learning rate grows."""
LEARNING_RATE, WEIGHT_DECAY, MAX_GRADIENT = 2e-3, 1e-2, 1.0
LAST_SHARE, HARD_SHARE = 7, 0.5
"""The last of so many parts of the steps restarts with a high learning rate, and with this share
of batches of many arms and much noise: rare in the prior, and slow to learn."""
REPORT_SECONDS, SAVE_SECONDS = 20.0, 120.0

Report = Callable[[int, float, Any], object]
"""Given the steps that are done, the mean loss since the last report, and the model."""


def train(
    steps: int,
    seed: int,
    *,
    sizes: Sizes = SIZES,
    lives: int = LIVES,
    report: Report = lambda done, loss, model: None,
) -> dict[str, NDArray[np.float32]]:
    """Weights after so many steps of gradient descent.

    Args:
        steps: Batches of lives.
        seed: Of everything random.
        sizes: Of the network.
        lives: In a batch.
        report: Called after every step.
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
    """Gradient descent from the weights that a model has.

    Args:
        model: What is trained.
        rng: Draws the worlds.
        steps: Batches of lives.
        lives: In a batch.
        hard_share: Of batches that are of many arms, much noise and long lives.
        report: Called after every step.
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
    """The learning rate as a share of its greatest: it grows, then falls along a cosine."""
    warm = min(WARM_UP, max(steps // 10, 1))
    if step < warm:
        return (step + 1) / warm
    return 0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * (step - warm) / max(steps - warm, 1)))


def arrays_of(model: Any) -> dict[str, NDArray[np.float32]]:
    """The weights of a model of torch, in plain arrays."""
    return {name: tensor.detach().numpy().copy() for name, tensor in model.state_dict().items()}


class _Progress:
    """Says how far it is, and writes what there is."""

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
        """Write the weights, and how they were made."""
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
    """Train, say how far it is, and write the file."""
    parser = ArgumentParser(description="Train the network of in-context-ucb on its prior.")
    parser.add_argument("--out", type=Path, required=True, help="The file to write (.safetensors).")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"Batches of {LIVES} lives.")
    parser.add_argument("--seed", type=int, default=0, help="Of everything random.")
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
            f"training needs torch, which comes with periodic-gp[rl]: {error}"
        ) from None


def _check_out(out: Path) -> None:
    """Refuse a place where nothing can be written: now, not after the training."""
    if out.suffix != ".safetensors":
        raise ValueError(f"--out must end in .safetensors, got {str(out)!r}")
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {str(out.parent)!r}")


if __name__ == "__main__":
    main()

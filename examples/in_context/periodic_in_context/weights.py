"""The weights in a file: plain arrays (safetensors), and beside them what they are, in JSON.

The JSON file has the SHA-256 of the other: the code of an agent is hashed with the JSON files that
are beside it, so a result knows the weights that it was made with.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from periodic_envs.files import write_atomically

SHIPPED = Path(__file__).with_name("weights.safetensors")
MAX_BYTES = 2**20
"""Largest file that is read."""

Weights = Mapping[str, NDArray[Any]]


class WeightsError(ValueError):
    """A file of weights that cannot be used: one sentence that says why."""


def write_weights(path: Path, weights: Weights, about: Mapping[str, Any]) -> None:
    """Write weights, and in a JSON file of the same name what they are.

    Args:
        path: The file, which ends in .safetensors.
        weights: Arrays by name.
        about: How they were made.
    """
    arrays = {name: np.ascontiguousarray(array, np.float32) for name, array in weights.items()}
    data = save(arrays, {"about": json.dumps(about)})
    _arrays(data, path)  # refuses what could not be read again
    write_atomically(path, data)
    said = {"sha256": hashlib.sha256(data).hexdigest(), **about}
    text = json.dumps(said, indent=1) + "\n"
    write_atomically(path.with_suffix(".json"), text.encode())


@cache
def read_weights(path: Path = SHIPPED) -> Weights:
    """The weights of a file, read once.

    Raises:
        WeightsError: If there is none, or it is damaged, or another one than its JSON file says.
    """
    try:
        data = path.read_bytes()
        said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot read the weights {str(path)!r}: {error}") from None
    if not isinstance(said, dict) or said.get("sha256") != hashlib.sha256(data).hexdigest():
        raise WeightsError(
            f"the weights {str(path)!r} are not those that the JSON file beside them is about: "
            "create both again with python -m periodic_in_context.train"
        )
    return _arrays(data, path)


def _arrays(data: bytes, path: Path) -> Weights:
    if len(data) > MAX_BYTES:
        raise WeightsError(f"the weights {str(path)!r} are larger than {MAX_BYTES:,} bytes")
    try:
        found = load(data)
    except SafetensorError as error:
        raise WeightsError(f"the weights {str(path)!r} are damaged: {error}") from None
    for name, array in found.items():
        if array.dtype != np.float32 or not np.isfinite(array).all():
            raise WeightsError(f"the weights {str(path)!r} have no finite numbers in {name!r}")
        array.setflags(write=False)
    return found


def flattened(weights: Weights) -> NDArray[np.float32]:
    """All weights in one array, by the order of their names."""
    return np.concatenate([np.ravel(weights[name]) for name in sorted(weights)])


def unflattened(numbers: NDArray[np.float32]) -> Weights:
    """Weights from one array, in the shapes of those that are shipped."""
    shapes = {name: array.shape for name, array in sorted(read_weights().items())}
    if numbers.shape != (sum(math.prod(shape) for shape in shapes.values()),):
        raise WeightsError(f"there are other weights than these, got an array {numbers.shape}")
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1]
    parts = np.split(np.asarray(numbers, np.float32), ends)
    return {
        name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }

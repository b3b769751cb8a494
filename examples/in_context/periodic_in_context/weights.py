"""Weights in a file of plain arrays (safetensors), with a description in a JSON file.

The JSON file contains the SHA-256 of the file of weights, so that two files that do not belong
together are detected.
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
"""Maximum size of a file of weights."""

Weights = Mapping[str, NDArray[Any]]


class WeightsError(ValueError):
    """Raised if weights cannot be used; the message is one sentence that states the reason."""


def write_weights(path: Path, weights: Weights, about: Mapping[str, Any]) -> None:
    """Write weights, and a JSON file with the same name that describes them.

    Args:
        path: File of the weights, which must end in .safetensors.
        weights: Arrays by name.
        about: Description of the training.
    """
    arrays = {name: np.ascontiguousarray(array, np.float32) for name, array in weights.items()}
    data = save(arrays, {"about": json.dumps(about)})
    _arrays(data, path)  # raises an error for weights that could not be read again
    write_atomically(path, data)
    said = {"sha256": hashlib.sha256(data).hexdigest(), **about}
    text = json.dumps(said, indent=1) + "\n"
    write_atomically(path.with_suffix(".json"), text.encode())


@cache
def read_weights(path: Path = SHIPPED) -> Weights:
    """Return the weights of a file, which is read only once.

    Raises:
        WeightsError: If the file is missing or damaged, or does not match its JSON file.
    """
    try:
        data = path.read_bytes()
        said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot read the weights {str(path)!r}: {error}") from None
    if not isinstance(said, dict) or said.get("sha256") != hashlib.sha256(data).hexdigest():
        raise WeightsError(
            f"the weights {str(path)!r} do not match the SHA-256 in their JSON file: create both "
            "files again with python -m periodic_in_context.train"
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
            raise WeightsError(
                f"the weights {str(path)!r} must be finite float32 numbers, but the array {name!r} "
                "contains other values"
            )
        array.setflags(write=False)
    return found


def flattened(weights: Weights) -> NDArray[np.float32]:
    """Return all weights in one flat array, ordered by their names."""
    return np.concatenate([np.ravel(weights[name]) for name in sorted(weights)])


def unflattened(numbers: NDArray[np.float32]) -> Weights:
    """Return the weights in a flat array, with the names and shapes of the shipped weights."""
    shapes = {name: array.shape for name, array in sorted(read_weights().items())}
    if numbers.shape != (sum(math.prod(shape) for shape in shapes.values()),):
        raise WeightsError(f"expected all weights in one flat array, got shape {numbers.shape}")
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1]
    parts = np.split(np.asarray(numbers, np.float32), ends)
    return {
        name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }

"""Sizes of the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray


class Sizes(NamedTuple):
    """Sizes of the transformer.

    Attributes:
        width: Width of a token.
        heads: Number of attention heads in each layer; it must divide the width.
        layers: Number of layers.
        hidden: Number of hidden units of the small network in each layer.
    """

    width: int = 48
    heads: int = 4
    layers: int = 3
    hidden: int = 96


def sizes_of(weights: Mapping[str, NDArray[Any]]) -> Sizes:
    """Return the sizes of the network with these weights."""
    layers = sum(name.endswith(".qkv.weight") for name in weights)
    width, hidden = weights["layers.0.outer.weight"].shape
    heads = weights["layers.0.out.weight"].shape[1] - width
    return Sizes(width, heads, layers, hidden)

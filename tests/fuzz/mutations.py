"""Ways to damage a file, from a flipped bit to a number out of all bounds."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable

NUMBERS = (
    *("0", "-1", "1e308", "-1e308", "1e400", "NaN", "Infinity", "null", "true", "''", '""', "[]"),
    *("2147483648", "9223372036854775808", "1" * 400, "0x10", "1,5", "١", "\u22121", "{}"),
)
"""Replacements of a number in a text."""
WORDS = (
    *(0, 1, 0xFF, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    *(2**40, 2**63 - 1, 2**63, 2**64 - 1),
)
"""Replacements of a length in a binary file."""
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
MAX_BYTES = 2**20


def flip(data: bytes, rng: random.Random) -> bytes:
    """Flip one bit."""
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """Remove the end."""
    return data[: rng.randrange(len(data))]


def replace_piece(data: bytes, rng: random.Random) -> bytes:
    """Remove a piece, repeat it, or replace it by noise or by another piece."""
    start, other = rng.randrange(len(data)), rng.randrange(len(data))
    size = rng.choice((1, 4, 16, 64, 512))
    piece = data[start : start + size]
    noise, moved = rng.randbytes(len(piece)), data[other : other + size]
    return (
        data[:start] + rng.choice((b"", piece * 2, piece * 50, noise, moved)) + data[start + size :]
    )


def replace_number(data: bytes, rng: random.Random) -> bytes:
    """Replace a number of a text by another, or by something else."""
    numbers = list(NUMBER.finditer(data))
    if not numbers:
        return flip(data, rng)
    one = rng.choice(numbers)
    return data[: one.start()] + rng.choice(NUMBERS).encode() + data[one.end() :]


def replace_length(data: bytes, rng: random.Random) -> bytes:
    """Replace some bytes by an integer at a limit of its type."""
    size, form = rng.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    place = rng.randrange(max(len(data) - size, 1))
    word = struct.pack(rng.choice("<>") + form, rng.choice(WORDS) % 256**size)
    return data[:place] + word + data[place + size :]


def replace_line(data: bytes, rng: random.Random) -> bytes:
    """Exchange, remove or repeat a line."""
    lines = data.splitlines(keepends=True)
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one] = rng.choice((lines[other], b"", lines[one] * 2, b"\n", lines[one].swapcase()))
    return b"".join(lines)


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(flip, cut, replace_length, replace_line),
    *(replace_piece, replace_piece, replace_piece, replace_number, replace_number),
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the data after one to four mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(MUTATIONS)(data or b"x", rng)[:MAX_BYTES]
    return data

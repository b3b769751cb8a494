"""Ways to damage a file, from a flipped bit to a number that nobody expects."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable

NUMBERS = (
    *("0", "-1", "1e308", "-1e308", "1e400", "NaN", "Infinity", "null", "true", "''", '""', "[]"),
    *("2147483648", "9223372036854775808", "1" * 400, "0x10", "1,5", "١", "\u22121", "{}"),
)
"""In the place of a number in a text."""
WORDS = (
    *(0, 1, 0xFF, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    *(2**40, 2**63 - 1, 2**63, 2**64 - 1),
)
"""In the place of a length in a binary file."""
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
MAX_BYTES = 2**20
"""What mutations may let a file grow to."""

Mutation = Callable[[bytes, random.Random], bytes]


def flip(data: bytes, rng: random.Random) -> bytes:
    """One bit."""
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """The end is missing."""
    return data[: rng.randrange(len(data))]


def remove(data: bytes, rng: random.Random) -> bytes:
    """A piece is missing."""
    start, end = _piece(data, rng)
    return data[:start] + data[end:]


def repeat(data: bytes, rng: random.Random) -> bytes:
    """A piece stands there several times."""
    start, end = _piece(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def move(data: bytes, rng: random.Random) -> bytes:
    """A piece stands elsewhere."""
    start, end = _piece(data, rng)
    rest = data[:start] + data[end:]
    place = rng.randrange(len(rest) + 1)
    return rest[:place] + data[start:end] + rest[place:]


def scramble(data: bytes, rng: random.Random) -> bytes:
    """A piece is noise."""
    start, end = _piece(data, rng)
    return data[:start] + rng.randbytes(end - start) + data[end:]


def other_number(data: bytes, rng: random.Random) -> bytes:
    """A number of a text is another one, or none."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return flip(data, rng)
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(NUMBERS).encode() + data[one.end() :]


def other_length(data: bytes, rng: random.Random) -> bytes:
    """A length is far too large."""
    size, form = rng.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    place = rng.randrange(max(len(data) - size, 1))
    word = struct.pack(rng.choice("<>") + form, rng.choice(WORDS) % 256**size)
    return data[:place] + word + data[place + size :]


def other_line(data: bytes, rng: random.Random) -> bytes:
    """Lines are exchanged, left out or repeated."""
    lines = data.splitlines(keepends=True)
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one] = rng.choice((lines[other], b"", lines[one] * 2, b"\n", lines[one].swapcase()))
    return b"".join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, cut, remove, repeat, move, scramble, other_number, other_number),
    *(other_length, other_line),
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One to four mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(MUTATIONS)(data or b"x", rng)[:MAX_BYTES]
    return data


def _piece(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.choice((1, 4, 16, 64, 512)))

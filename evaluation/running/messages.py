"""Messages through a socket: their length, then their bytes."""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("<Q")


def send(line: socket.socket, message: bytes) -> None:
    """Send one message."""
    line.sendall(_LENGTH.pack(len(message)) + message)


def receive(line: socket.socket, max_bytes: int) -> bytes:
    """Wait for one message, and refuse one that is too long."""
    (length,) = _LENGTH.unpack(_exactly(line, _LENGTH.size))
    if length > max_bytes:
        raise ValueError("too long a message")
    return _exactly(line, length)


def _exactly(line: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = line.recv(min(size, 2**20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)

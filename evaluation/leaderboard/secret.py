"""An edition's secret: the key that signs its log, and the salt of its hidden seeds."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from platformdirs import user_config_path

from periodic_envs.files import settle


class SecretError(Exception):
    """A secret that is missing or does not belong to the edition: one sentence."""


@dataclass(frozen=True)
class Secret:
    """What only the maintainers have.

    Attributes:
        key: Signs the log.
        salt: Hidden seeds are derived from it.
    """

    key: Ed25519PrivateKey
    salt: bytes

    @classmethod
    def create(cls, path: Path) -> Secret:
        """Make a new secret, in a file that only its owner can read.

        The file says that no edition has been opened with it yet, until ``mark_used``.
        """
        if path.exists():
            raise SecretError(f"there is a secret in {str(path)!r} already: it is left alone")
        made = cls(Ed25519PrivateKey.generate(), secrets.token_bytes(32))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            made._write(path, used=False)
        except OSError as error:
            raise SecretError(f"cannot write the secret {str(path)!r}: {error.strerror}") from None
        return made

    @classmethod
    def for_opening(cls, path: Path) -> Secret:
        """A new secret, or the one of an opening that was cut off before anything was published."""
        if path.exists() and _is_new(path):
            return cls.load(path)
        return cls.create(path)

    def mark_used(self, path: Path) -> None:
        """Say in its file, if it does not yet, that an edition has been opened with it."""
        if _is_new(path):
            self._write(path, used=True)

    def _write(self, path: Path, *, used: bool) -> None:
        """Whole or not at all; a first one never in the place of another."""
        part = path.with_name(f".{path.name}.part")
        part.unlink(missing_ok=True)
        content = {"key": self.key.private_bytes_raw().hex(), "salt": self.salt.hex(), "used": used}
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            (os.replace if used else os.link)(part, path)
        finally:
            part.unlink(missing_ok=True)
        settle(path.parent)

    @classmethod
    def load(cls, path: Path) -> Secret:
        """Read a secret from its file."""
        content = _content(path)
        try:
            key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(content["key"]))
            return cls(key, bytes.fromhex(content["salt"]))
        except (ValueError, KeyError, TypeError):
            raise SecretError(f"{str(path)!r} holds no edition's secret") from None

    @property
    def public_key(self) -> str:
        """The public half of the key, which everybody may know."""
        return self.key.public_key().public_bytes_raw().hex()

    @property
    def salt_hash(self) -> str:
        """SHA-256 of the salt, published when the edition opens: it binds the maintainers."""
        return hashlib.sha256(self.salt).hexdigest()


def default_path(edition: str) -> Path:
    """Where an edition's secret is kept: in the user's settings, outside any repository."""
    return user_config_path("periodic-gp") / "editions" / f"{edition}.json"


def _is_new(path: Path) -> bool:
    """Whether no edition has been opened with a secret; one that does not say so is old."""
    return _content(path).get("used", True) is False


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise SecretError(
            f"cannot read the edition's secret {str(path)!r} ({error.strerror}); only its "
            "maintainers have it: name its place with --secret"
        ) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise SecretError(f"{str(path)!r} holds no edition's secret")
    return content

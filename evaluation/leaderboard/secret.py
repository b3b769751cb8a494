"""An edition's secret: the key that signs its log, and the salt of its hidden seeds."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from platformdirs import user_config_path


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
        """Make a new secret, in a file that only its owner can read."""
        if path.exists():
            raise SecretError(f"there is a secret in {str(path)!r} already: it is left alone")
        made = cls(Ed25519PrivateKey.generate(), secrets.token_bytes(32))
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"key": made.key.private_bytes_raw().hex(), "salt": made.salt.hex()}
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(content, file)
        return made

    @classmethod
    def load(cls, path: Path) -> Secret:
        """Read a secret from its file."""
        try:
            content = json.loads(path.read_text())
            key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(content["key"]))
            return cls(key, bytes.fromhex(content["salt"]))
        except OSError as error:
            raise SecretError(
                f"cannot read the edition's secret {str(path)!r} ({error.strerror}); only its "
                "maintainers have it: name its place with --secret"
            ) from None
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

"""Where real measurements come in."""

from periodic_envs.data.errors import DataError

__all__ = ["DataError"]

"""Tables of measurements, and worlds made from them."""

from periodic_envs.data.errors import DataError

__all__ = ["DataError"]

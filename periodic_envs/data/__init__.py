"""Tables of measurements, and the base classes of worlds that replay them."""

from periodic_envs.data.errors import DataError

__all__ = ["DataError"]

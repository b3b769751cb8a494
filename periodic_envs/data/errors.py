"""Errors in data."""


class DataError(ValueError):
    """Data that cannot be used; the message names the place and a remedy."""

"""What goes wrong with other people's data."""


class DataError(ValueError):
    """Data that cannot be used: one sentence that names the place and what to do."""

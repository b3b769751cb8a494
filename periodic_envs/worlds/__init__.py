"""One world per file; importing a file registers its id, which is how a world is asked for."""

__all__: list[str] = []

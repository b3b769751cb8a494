"""Where it runs: runs, sweeps of them, workers, isolation, executors, training."""

__all__: list[str] = []

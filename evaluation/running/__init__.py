"""Where it runs: runs, sweeps of them, workers, isolation, executors, training."""

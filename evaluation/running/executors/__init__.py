"""Where runs run: in this process, in a pool of processes, on a Dask cluster."""

from evaluation.running.executors.base import Executor, InProcess, dispatch
from evaluation.running.executors.pool import Pool

__all__ = ["Executor", "InProcess", "Pool", "dispatch"]

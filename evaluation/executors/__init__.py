"""Where cells run: in this process, in a pool of processes, on a Dask cluster."""

from evaluation.executors.base import Executor, dispatch
from evaluation.executors.in_process import InProcess
from evaluation.executors.pool import Pool

__all__ = ["Executor", "InProcess", "Pool", "dispatch"]

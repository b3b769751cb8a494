"""Type aliases for arrays of real numbers and for random generators."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rng = np.random.Generator

__all__ = ["Array", "Rng"]

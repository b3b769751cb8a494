"""Type alias for arrays of real numbers."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

"""How much past a smooth time kernel needs.

A squared exponential in time (C-GP-UCB) has no finite state, but old observations lose all
influence. Not as soon as the correlation with the present is negligible, though: an observation of
then informs those in between, and they inform the present. In the worst case, one observation of
the same action per unit of time, the influence at lag d is the Fourier transform of
1 / (S + sigma^2), where

    S(omega) = v l sqrt(2 pi) exp(-omega^2 l^2 / 2)

is the spectral density of the kernel. It falls like exp(-eta d / l), with eta the imaginary part of
the nearest zero of S + sigma^2, at omega l = sqrt(2 log(v l sqrt(2 pi) / sigma^2) + 2 pi i).
At l = 10, v = 1, sigma^2 = 0.01 that is 43 l for 1e-15, where the correlation alone asks for 8.3 l.
"""

from __future__ import annotations

import cmath
import math

from agents.gp.kernels.base import Kernel
from agents.gp.kernels.time import TimeSquaredExponential

INFLUENCE = 1e-13
"""What an observation may count for and still be forgotten, as a share of the newest one."""


def exact_window(kernel: Kernel, noise_variance: float, peak: float) -> float | None:
    """Age from which observations no longer matter; None if there is no such age.

    Args:
        kernel: A sum in which every term has a squared exponential in time.
        noise_variance: sigma^2.
        peak: Largest prior variance v.
    """
    scales = [
        [clock.length_scale for clock in term.clocks if isinstance(clock, TimeSquaredExponential)]
        for term in kernel.terms
    ]
    if not all(scales):
        return None
    length_scale = max(min(of_term) for of_term in scales)
    ratio = math.sqrt(2 * math.pi) * length_scale * peak / noise_variance
    eta = cmath.sqrt(2 * math.log(max(ratio, 1.0)) + 2j * math.pi).imag
    reach = math.sqrt(-2 * math.log(INFLUENCE))  # of the correlation alone
    return length_scale * max(reach, -math.log(INFLUENCE) / eta)

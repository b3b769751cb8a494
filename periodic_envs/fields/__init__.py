"""Random fields as finite series, for smooth functions of action and time.

A draw from a Gaussian process is written ``f(a, t) = phi(a) . w(t)`` with a finite feature map
``phi`` on the actions (:mod:`.basis`) and random weights ``w`` that move with time
(:mod:`.seasons`). The maximum over the actions is found by :mod:`.maximise`.
Internal: the interface may change.
"""

__all__: list[str] = []

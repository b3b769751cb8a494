"""Random fields as finite series, for smooth functions of action and time.

A draw from a Gaussian process is written ``f(a, t) = phi(a) . w(t)`` with a finite feature map
``phi`` on the actions (:mod:`.basis`) and random weights ``w`` that vary with time
(:mod:`.seasons`). The module :mod:`.maximise` finds the maximum over the actions.
This package is internal: its interface may change.
"""

__all__: list[str] = []

"""Random fields as finite series: how a world draws a smooth function of action and time.

A draw from a Gaussian process is written ``f(a, t) = phi(a) . w(t)`` with a finite feature map
``phi`` on the actions (:mod:`.basis`) and random weights ``w`` that move with time
(:mod:`.seasons`). The maximum over the actions is found by :mod:`.maximise`.
The worlds are made of these; nothing here is promised to stay.
"""

__all__: list[str] = []

"""A figure that shows itself in a notebook, without pyplot and its global state."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure of Matplotlib that a notebook shows as a picture."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", facecolor=self.get_facecolor())
        return file.getvalue()

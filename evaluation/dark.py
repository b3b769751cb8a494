"""Dark variants of pictures: the same lines and colours on a dark page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, INK, SOFT = "#14161a", "#eceae6", "#b4b8bf"
"""Of the report's page in the dark: its ground, its text, and axes and their words."""
BLACK = ((0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
"""What is ink in a light picture: text, and lines and dots in black."""

AnyFigure = TypeVar("AnyFigure", bound="Figure")


def darkened(figure: AnyFigure) -> AnyFigure:
    """The figure itself, with a dark ground and light words; colours of agents stay.

    Black lines become light ones. Pictures of landscapes stay as they are.
    """
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    figure.set_facecolor(PAPER)
    for artist in figure.findobj(include_self=True):
        if isinstance(artist, Axes):
            _darken_axes(artist)
        elif isinstance(artist, Legend):
            artist.get_frame().set_facecolor(PAPER)
        elif isinstance(artist, Text | Line2D) and _is_black(artist.get_color()):
            artist.set_color(INK)
    for collection in (c for axes in figure.axes for c in axes.collections):
        _lighten(collection)
    return figure


def _darken_axes(axes: Any) -> None:
    axes.set_facecolor(PAPER)
    axes.tick_params(which="both", colors=SOFT, labelcolor=SOFT)
    for spine in axes.spines.values():
        spine.set_edgecolor(SOFT)


def _lighten(collection: Any) -> None:
    """Of a band or of bars, those that are black."""
    colours = collection.get_facecolor()
    if len(colours) and all(_is_black(colour) for colour in colours):
        alpha = collection.get_alpha()
        collection.set_color(INK)
        collection.set_alpha(alpha)


def _is_black(colour: Any) -> bool:
    from matplotlib.colors import to_rgb

    return not (isinstance(colour, str) and colour == "none") and to_rgb(colour) in BLACK

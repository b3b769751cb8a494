"""Figures show what they are given, and twelve agents can be told apart."""

import io

import numpy as np
import pytest

from agents.registry import online_names
from evaluation.plots import FIRST, agent_styles, curves_figure, looks, phase_figure, profile_figure
from evaluation.statistics import Band

AGENTS = [f"agent-{i}" for i in range(12)]


def band(values):
    values = np.asarray(values, dtype=float)
    return Band(values, values - 1.0, values + 2.0)


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer)
    return buffer.getvalue()


def labels(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_no_two_of_many_agents_look_alike() -> None:
    styles = agent_styles([str(i) for i in range(42)])
    assert len({repr(style) for style in styles.values()}) == 42


def test_an_agent_looks_the_same_in_every_picture() -> None:
    everybody = looks(online_names())
    assert looks(reversed(online_names())) == everybody
    assert [everybody[agent] for agent in FIRST] == list(range(len(FIRST)))
    assert looks(["gp-ucb", "nobody's"])["gp-ucb"] == everybody["gp-ucb"]
    assert looks(["gp-ucb:beta=1"]) == {"gp-ucb:beta=1": everybody["gp-ucb"]}
    assert looks(["GP-UCB"])["GP-UCB"] == everybody["gp-ucb"]
    assert looks(["GP-UCB", "gp-ucb"])["gp-ucb"] == everybody["gp-ucb"]
    assert looks(["d-ucb, trained"])["d-ucb, trained"] == everybody["d-ucb"]
    ours = ["Periodic-GP-UCB", "GP-UCB", "auto-gp-ucb", "C-GP-UCB", "R-GP-UCB", "TV-GP-UCB"]
    varied = looks([*ours, "Periodic-GP-UCB, l = 1", "C-GP-UCB, eps = 0.1"])
    assert [varied[agent] for agent in ours] == list(range(6))
    both = looks(["gp-ucb:beta=1", "gp-ucb"])
    assert both["gp-ucb"] == everybody["gp-ucb"] != both["gp-ucb:beta=1"]


def test_more_agents_than_looks_share_them_evenly() -> None:
    many = list(looks(str(i) for i in range(90)).values())
    assert max(map(many.count, many)) == 3


def test_curves_are_the_numbers_and_the_legend_reads_from_the_top() -> None:
    curves = {
        "A": {agent: band(i * np.arange(1, 6)) for i, agent in enumerate(AGENTS)},
        "B": {AGENTS[3]: band([1, 2, 3]), AGENTS[0]: band([4, 5, 6])},
    }
    figure = curves_figure(curves, agents=AGENTS)
    first, second = figure.axes
    assert first.get_title() == "A"
    # Over both panels: the first agent is the lowest of twelve, and the higher one of two.
    places = [11, 10, 9, 8, 7, 6, 0, 5, 4, 2, 3, 1]
    assert labels(figure) == [AGENTS[i] for i in places]
    lines = {line.get_label(): line for line in first.get_lines()}
    np.testing.assert_array_equal(lines[AGENTS[4]].get_ydata(), 4 * np.arange(1, 6))
    np.testing.assert_array_equal(lines[AGENTS[4]].get_xdata(), np.arange(1, 6))
    again = {line.get_label(): line for line in second.get_lines()}
    assert again[AGENTS[3]].get_color() == lines[AGENTS[3]].get_color()
    edges = second.collections[1].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (3.0, 8.0)
    assert png(figure).startswith(b"\x89PNG")


def test_curves_at_given_times_without_intervals() -> None:
    """One run has no interval: the line is drawn, the band is not."""
    nan = np.full(3, np.nan)
    figure = curves_figure({"A": {"x": Band(np.arange(3.0), nan, nan)}}, times={"A": [6, 7, 8]})
    np.testing.assert_array_equal(figure.axes[0].get_lines()[0].get_xdata(), [6, 7, 8])
    assert png(figure)


def test_phases_are_sorted_and_span_the_season() -> None:
    rows = {"bad": [5.0, 6.0, 7.0], "good": [0.0, 1.0, np.nan]}
    figure = phase_figure({"A": rows}, period={"A": 3.2})
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["good", "bad"]
    image = axes.images[0]
    np.testing.assert_array_equal(np.asarray(image.get_array())[1], [5.0, 6.0, 7.0])
    assert list(image.get_extent()) == [0.0, 3.2, 1.5, -0.5]
    assert png(figure)


def test_profiles_are_the_numbers() -> None:
    profiles = {"low": band([0.5, 0.1]), "high": band([1.0, 0.9])}
    figure = profile_figure(profiles, [0.0, 1.0], agents=["high", "low"])
    axes = figure.axes[0]
    assert labels(figure) == ["high", "low"]
    (high,) = (line for line in axes.get_lines() if line.get_label() == "high")
    np.testing.assert_array_equal(high.get_ydata(), [1.0, 0.9])
    assert high.get_color() == agent_styles(["high"])["high"]["color"]
    assert png(figure)


@pytest.mark.parametrize("count", [1, 2, 4, 10])
def test_there_is_a_panel_per_environment(count) -> None:
    curves = {str(i): {"x": band([1.0, 2.0])} for i in range(count)}
    assert [axes.get_title() for axes in curves_figure(curves).axes] == list(curves)

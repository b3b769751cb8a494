"""Figures show their numbers, and many agents look different."""

import numpy as np
import pytest

from evaluation.plots import (
    agent_styles,
    colour_of,
    curves_figure,
    dashes_of,
    looks,
    phase_figure,
    profile_figure,
    regret_by_phase,
)
from evaluation.references import phase_bins
from evaluation.statistics import Band

AGENTS = [f"agent-{i}" for i in range(12)]


def band(values):
    values = np.asarray(values, dtype=float)
    return Band(values, values - 1.0, values + 2.0)


def labels(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_styles_differ_and_repeat() -> None:
    styles = agent_styles([str(i) for i in range(42)])
    assert len({repr(style) for style in styles.values()}) == 42
    numbers = looks(str(i) for i in range(90))
    assert list(numbers.values()) == list(range(90))
    assert (colour_of(0), dashes_of(0)) == (colour_of(42), dashes_of(42))


def test_curves_figure_draws_curves_and_legend() -> None:
    curves = {
        "A": {agent: band(i * np.arange(1, 6)) for i, agent in enumerate(AGENTS)},
        "B": {AGENTS[3]: band([1, 2, 3]), AGENTS[0]: band([4, 5, 6])},
    }
    figure = curves_figure(curves, agents=AGENTS)
    first, second = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["A", "B"]
    assert labels(figure) == AGENTS
    lines = {line.get_label(): line for line in first.get_lines()}
    np.testing.assert_array_equal(lines[AGENTS[4]].get_ydata(), 4 * np.arange(1, 6))
    np.testing.assert_array_equal(lines[AGENTS[4]].get_xdata(), np.arange(1, 6))
    again = {line.get_label(): line for line in second.get_lines()}
    assert again[AGENTS[3]].get_color() == lines[AGENTS[3]].get_color()
    edges = second.collections[1].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (3.0, 8.0)


def test_curves_figure_takes_times_and_single_runs() -> None:
    """One run has no interval: the line is drawn, the band is not."""
    nan = np.full(3, np.nan)
    figure = curves_figure({"A": {"x": Band(np.arange(3.0), nan, nan)}}, times={"A": [6, 7, 8]})
    np.testing.assert_array_equal(figure.axes[0].get_lines()[0].get_xdata(), [6, 7, 8])


def test_phase_figure_sorts_agents() -> None:
    rows = {"bad": [5.0, 6.0, 7.0], "good": [0.0, 1.0, np.nan]}
    figure = phase_figure({"A": rows}, period={"A": 3.2})
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["good", "bad"]
    image = axes.images[0]
    np.testing.assert_array_equal(np.asarray(image.get_array())[1], [5.0, 6.0, 7.0])
    assert list(image.get_extent()) == [0.0, 3.2, 1.5, -0.5]


def test_profile_figure_draws_profiles() -> None:
    profiles = {"low": band([0.5, 0.1]), "high": band([1.0, 0.9])}
    figure = profile_figure(profiles, [0.0, 1.0], agents=["high", "low"])
    axes = figure.axes[0]
    assert labels(figure) == ["high", "low"]
    (high,) = (line for line in axes.get_lines() if line.get_label() == "high")
    np.testing.assert_array_equal(high.get_ydata(), [1.0, 0.9])
    assert high.get_color() == agent_styles(["high", "low"])["high"]["color"]


def test_regret_by_phase_of_a_whole_period() -> None:
    t = np.arange(3, 3 + 24)
    regret = np.stack([(t % 5) * 1.0, (t % 5) * 3.0])
    np.testing.assert_allclose(regret_by_phase(regret, t, 5.0), [0.0, 2.0, 4.0, 6.0, 8.0])


def test_regret_by_phase_of_a_fractional_period() -> None:
    """Twelve bins of 12.4 / 12 steps; the mean weighted by bin is the mean of all."""
    t = np.arange(500)
    bins = phase_bins(t, 12.4)
    assert (bins.min(), bins.max()) == (0, 11)
    # In whole numbers, exact also where a bin begins on a step: t / 12.4 * 12 = 120 t / 124.
    np.testing.assert_array_equal(bins, 120 * t // 124 % 12)
    regret = np.random.default_rng(0).random((3, 500))
    by_phase = regret_by_phase(regret, t, 12.4)
    assert by_phase @ np.bincount(bins) / 500 == pytest.approx(regret.mean())


def test_regret_by_phase_without_data_is_nan() -> None:
    by_phase = regret_by_phase(np.ones((2, 3)), [0, 1, 2], 5.0)
    np.testing.assert_array_equal(by_phase, [1.0, 1.0, 1.0, np.nan, np.nan])

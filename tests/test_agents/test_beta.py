"""Schedules against their formulas, by hand."""

import math

import pytest

from agents.gp import (
    Box,
    BoxBeta,
    ConstantBeta,
    Finite,
    FiniteBeta,
    PaperBeta,
    PrintedBeta,
    ScaledBeta,
    parse_beta,
)

ARMS, BOX = Finite.arms(24), Box([-1, 0], [1, 5])


def test_paper_is_clipped_at_zero():
    assert [PaperBeta()(t) for t in (1, 2)] == [0.0, 0.0]
    assert PaperBeta()(100) == pytest.approx(0.8 * math.log(40))


def test_steady_is_the_papers_and_at_least_one():
    beta = parse_beta("steady", ARMS)
    assert [beta(t) for t in (1, 2, 8)] == [1.0, 1.0, 1.0]
    assert beta(1000) == pytest.approx(0.8 * math.log(400))


def test_printed_weighs_by_the_inverse():
    beta = PrintedBeta()
    assert beta(100) == pytest.approx(1 / (0.8 * math.log(40)))
    assert beta(1) == beta(2) == beta(3) == pytest.approx(1 / (0.8 * math.log(1.2)))
    assert beta(3) > beta(4) > beta(1000) > 0
    with pytest.raises(ValueError, match="count from 1"):
        beta(0)


def test_a_factor_is_of_the_weight():
    beta = parse_beta("paper*0.5", ARMS)
    assert math.sqrt(beta(100)) == pytest.approx(0.5 * math.sqrt(PaperBeta()(100)))


def test_finite_is_equation_7():
    assert FiniteBeta(24, 0.05)(10) == pytest.approx(2 * math.log(24 * 100 * math.pi**2 / 0.3))


def test_box_is_equation_8():
    union = math.pi**2 * 49 / (3 * 0.1)
    mesh = 0.5 * 5 * 2 * 49 * math.sqrt(math.log(3 * 2 * union))
    expected = 2 * math.log(union) + 4 * math.log(mesh)
    assert BoxBeta(2, 5.0, 0.1, c1=3.0, c2=0.5)(7) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("spec", "actions", "expected"),
    [
        ("paper", ARMS, PaperBeta()),
        ("finite", ARMS, FiniteBeta(24, 0.1)),
        ("finite:0.01", ARMS, FiniteBeta(24, 0.01)),
        ("printed", ARMS, PrintedBeta()),
        ("box", BOX, BoxBeta(2, 5.0, 0.1)),
        ("box:0.2:3:1.5", BOX, BoxBeta(2, 5.0, 0.2, c1=3.0, c2=1.5)),
        ("theorem", ARMS, FiniteBeta(24, 0.1)),
        ("theorem:0.2", BOX, BoxBeta(2, 5.0, 0.2)),
        ("constant:2", BOX, ConstantBeta(2.0)),
        ("0.5", BOX, ConstantBeta(0.5)),
        ("1e-3", BOX, ConstantBeta(0.001)),
        (2, ARMS, ConstantBeta(2.0)),
        ("theorem:0.2*3", BOX, ScaledBeta(BoxBeta(2, 5.0, 0.2), 3.0)),
        (2.5, ARMS, ConstantBeta(2.5)),
        (PaperBeta(), ARMS, PaperBeta()),
    ],
)
def test_parsing(spec, actions, expected):
    assert parse_beta(spec, actions) == expected


@pytest.mark.parametrize(
    ("spec", "actions"),
    [
        ("papers", ARMS),
        ("box", ARMS),
        ("finite", BOX),
        ("finite:1.5", ARMS),
        ("constant", ARMS),
        ("constant:-1", ARMS),
        (-1.0, ARMS),
        ("nan", ARMS),
        ("inf", ARMS),
        ("", ARMS),
        ("paper:3", ARMS),
        ("theorem:0.1:2:3", BOX),
        ("printed:3", ARMS),
        ("box:0.1:2", BOX),
        ("box:0.1:2:-1", BOX),
        ("box:0.1:a:b", BOX),
        ("paper*", ARMS),
        ("paper*-1", ARMS),
        ("paper*inf", ARMS),
        ("*2", ARMS),
    ],
)
def test_nonsense_is_refused(spec, actions):
    with pytest.raises(ValueError, match="cannot use beta"):
        parse_beta(spec, actions)


def test_eq_8_is_clipped_as_a_whole():
    """In a small box the second logarithm is negative, and so may be the sum: -0.97 at first."""
    small = BoxBeta(1, 0.01)
    assert small(1) == 0.0
    union = math.pi**2 * 25 / (3 * 0.1)
    mesh = 0.01 * 25 * math.sqrt(math.log(union))
    assert mesh < 1.0
    assert small(5) == pytest.approx(2 * math.log(union) + 2 * math.log(mesh))
    assert BoxBeta(1, 1.0, c1=1e-9)(1) == 0.0  # the inner logarithm is negative


@pytest.mark.parametrize("beta", [PaperBeta(), FiniteBeta(3), BoxBeta(1, 1.0), BoxBeta(2, 0.01)])
def test_schedules_grow_and_are_never_negative(beta):
    values = [beta(t) for t in range(1, 200)]
    assert values == sorted(values)
    assert values[0] >= 0
    with pytest.raises(ValueError, match="count from 1"):
        beta(0)

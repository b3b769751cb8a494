"""Schedules against their formulas, by hand."""

import math
from typing import Any

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
UNION = math.pi**2 * 49 / (3 * 0.1)
MESH = 0.5 * 5 * 2 * 49 * math.sqrt(math.log(3 * 2 * UNION))
SMALL_UNION = math.pi**2 * 25 / (3 * 0.1)
SMALL_MESH = 0.01 * 25 * math.sqrt(math.log(SMALL_UNION))


@pytest.mark.parametrize(
    ("beta", "t", "expected"),
    [
        (PaperBeta(), 1, 0.0),
        (PaperBeta(), 2, 0.0),
        (PaperBeta(), 100, 0.8 * math.log(40)),
        (parse_beta("steady", ARMS), 8, 1.0),
        (parse_beta("steady", ARMS), 1000, 0.8 * math.log(400)),
        (parse_beta("paper*0.5", ARMS), 100, 0.25 * 0.8 * math.log(40)),  # of the weight
        (PrintedBeta(), 100, 1 / (0.8 * math.log(40))),
        (PrintedBeta(), 1, 1 / (0.8 * math.log(1.2))),
        (PrintedBeta(), 3, 1 / (0.8 * math.log(1.2))),
        (FiniteBeta(24, 0.05), 10, 2 * math.log(24 * 100 * math.pi**2 / 0.3)),  # Eq. (7)
        (BoxBeta(2, 5.0, 0.1, c1=3.0, c2=0.5), 7, 2 * math.log(UNION) + 4 * math.log(MESH)),
        # Eq. (8) is clipped as a whole: its second logarithm, or the inner one, may be negative.
        (BoxBeta(1, 0.01), 1, 0.0),
        (BoxBeta(1, 0.01), 5, 2 * math.log(SMALL_UNION) + 2 * math.log(SMALL_MESH)),
        (BoxBeta(1, 1.0, c1=1e-9), 1, 0.0),
    ],
    ids=str,
)
def test_beta_is_its_formula(beta: Any, t: int, expected: float) -> None:
    assert beta(t) == pytest.approx(expected)


@pytest.mark.parametrize(
    "beta", [PaperBeta(), PrintedBeta(), FiniteBeta(3), BoxBeta(1, 1.0), BoxBeta(2, 0.01)], ids=str
)
def test_beta_is_monotone_and_never_negative(beta: Any) -> None:
    values = [beta(t) for t in range(1, 200)]
    assert values == sorted(values, reverse=beta == PrintedBeta())
    assert min(values) >= 0
    with pytest.raises(ValueError, match="steps"):
        beta(0)


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
def test_parse_beta_reads_names_and_numbers(spec: Any, actions: Any, expected: Any) -> None:
    assert parse_beta(spec, actions) == expected


@pytest.mark.parametrize(
    ("spec", "actions"),
    [
        *((spec, ARMS) for spec in ("papers", "box", "finite:1.5", "constant", "constant:-1")),
        *((spec, ARMS) for spec in (-1.0, "nan", "inf", "", "paper:3", "printed:3", "paper*")),
        *((spec, ARMS) for spec in ("paper*-1", "paper*inf", "*2")),
        *((spec, BOX) for spec in ("finite", "theorem:0.1:2:3", "box:0.1:2", "box:0.1:2:-1")),
        ("box:0.1:a:b", BOX),
    ],
)
def test_parse_beta_refuses_nonsense(spec: Any, actions: Any) -> None:
    with pytest.raises(ValueError, match="beta"):
        parse_beta(spec, actions)

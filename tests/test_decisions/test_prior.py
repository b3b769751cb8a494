"""Tests of ``periodic-gp learn-prior``."""

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from agents import AgentSpec
from agents.auto.learned_prior import SHIPPED
from evaluation.play import play
from periodic_decisions.priors import learn, likeliest_transform, phases, profile_of
from tests.console import call, error_of

PERIOD, ARMS = 12, 6


def measurements(seasons: int, seed: int, unit: float = 1.0) -> np.ndarray:
    """Return a profile that is the same for every seed, plus a slow process and noise."""
    profile = np.random.default_rng(99).normal(0.0, 2.0, (PERIOD, ARMS))
    rng = np.random.default_rng(seed)
    lasting = np.zeros((seasons * PERIOD, ARMS))
    for t in range(1, len(lasting)):
        lasting[t] = 0.85 * lasting[t - 1] + rng.normal(0.0, 0.3, ARMS)
    return unit * (np.tile(profile, (seasons, 1)) + lasting + rng.normal(0.0, 0.3, lasting.shape))


def table(path: Path, values: np.ndarray) -> Path:
    frame = pd.DataFrame(values, columns=[f"arm {i}" for i in range(values.shape[1])])
    frame.insert(0, "time", np.arange(len(frame)))
    frame.to_csv(path, index=False)
    return path


def replay_of(file: Path) -> gym.Env:
    return gym.make("PeriodicGP-Replay-v0", data=str(file), period=PERIOD)


@pytest.mark.parametrize("unit", [1.0, 1e5])
def test_learned_prior_pays_on_fresh_data(tmp_path: Path, unit: float) -> None:
    """The prior pays in any unit: variances must stay within the limits of agents."""
    old = table(tmp_path / "old.csv", measurements(40, 0, unit))
    prior = tmp_path / "prior.json"
    result = call("learn-prior", str(old), "--period", str(PERIOD), "--out", str(prior))
    assert result.returncode == 0, result.stderr
    assert f"auto-gp-ucb:prior={prior}" in result.stdout
    new = table(tmp_path / "new.csv", measurements(8, 1, unit))
    informed, plain = (
        play(replay_of(new), AgentSpec.parse(agent), 0).regret.sum()
        for agent in (f"auto-gp-ucb:prior={prior}", "auto-gp-ucb")
    )
    assert informed < 0.5 * plain


def test_learn_finds_the_variances() -> None:
    """Lasting: 0.3^2 / (1 - 0.85^2) = 0.324; noise: 0.09."""
    content = learn([measurements(400, 0)], period=PERIOD, transform="identity")
    assert content["unit"] ** 2 == pytest.approx(0.414, rel=0.05)
    assert content["noise_variance"] * content["unit"] ** 2 == pytest.approx(0.09, rel=0.3)
    parts = {term["part"] + str(term.get("eps", "")): term for term in content["terms"]}
    own = {name: np.sum(np.square(t["factor"]), 1) + t["own"] for name, t in parts.items()}
    lasting = sum(v for name, v in own.items() if name.startswith("decay"))
    assert np.mean(lasting) * content["unit"] ** 2 == pytest.approx(0.324, rel=0.3)
    assert own["level"].mean() < 0.1


def test_learn_prior_keeps_coordinates(tmp_path: Path) -> None:
    file = table(tmp_path / "old.csv", measurements(10, 0))
    places = tmp_path / "places.csv"
    places.write_text("arm,x\n" + "".join(f"arm {i},{i / 2}\n" for i in range(ARMS)))
    out = tmp_path / "prior.json"
    options = ("--period", "12", "--out", str(out), "--start", "12", "--steps", "96")
    result = call("learn-prior", str(file), *options)
    assert " 8 seasons" in result.stdout, result.stderr
    assert "places" not in json.loads(out.read_text())
    call("learn-prior", str(file), *options, "--arm-features", str(places))
    assert json.loads(out.read_text())["places"] == [[i / 2] for i in range(ARMS)]


@pytest.mark.parametrize("period", [2, 7, 24, 24.5, 168])
@pytest.mark.parametrize("arms", [2, 9])
def test_learn_takes_any_season(period: float, arms: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(5.0, 1.0, (int(4 * period), arms))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[0] = 5.0
    content = learn([values], period=period)
    rows = int(np.ceil(period))
    assert np.array(content["profile"]).shape == (rows, arms)
    assert all(np.shape(term["factor"])[1] <= arms for term in content["terms"])
    assert "NaN" not in json.dumps(content)
    assert set(phases(len(values), period)) == set(range(rows))


def test_learn_takes_equal_seasons() -> None:
    values = np.tile(np.arange(12.0).reshape(4, 3) ** 2, (5, 1))
    content = learn([values], period=4, transform="identity")
    profile = np.array(content["profile"]) * content["unit"]
    np.testing.assert_allclose(profile, profile_of([values], 4), atol=content["unit"])
    assert content["noise_variance"] > 0


@pytest.mark.parametrize("scale", ["identity", "sqrt", "log1p"])
def test_likeliest_transform_follows_the_noise(scale: str) -> None:
    rng = np.random.default_rng(0)
    level = np.tile(rng.uniform(5.0, 200.0, (12, 5)), (30, 1))
    noise = rng.normal(0.0, 1.0, level.shape)
    values = {
        "identity": level - 100.0 + 3.0 * noise,
        "sqrt": rng.poisson(level).astype(float),
        "log1p": level * np.exp(0.5 * noise),
    }
    assert likeliest_transform([values[scale]], 12) == scale


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), "missing-argument"),
        (("--period", "70"), "too-few-seasons"),
        (("--period", "50"), "too-few-seasons"),
        (("--period", "1"), "out-of-range"),
        (("--period", "nan"), "out-of-range"),
        (("--period", "12", "--transform", "cube"), "invalid-option"),
        (("--period", "12", "--years", "2016"), "conflicting-options"),
        (("--period", "12", "--start", "999"), "outside-data"),
        (("--period", "12", "--start", "soon"), "outside-data"),
        (("--period", "12", "--arm-features", "nowhere.csv"), "file-not-found"),
    ],
)
def test_learn_prior_refuses_bad_options(
    tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    file, out = table(tmp_path / "old.csv", measurements(10, 0)), tmp_path / "prior.json"
    assert error_of("learn-prior", str(file), "--out", str(out), *options) == code
    assert not out.exists()


@pytest.mark.parametrize(
    ("file", "out", "code"),
    [
        ("nowhere.csv", "prior.json", "file-not-found"),
        ("bad.csv", "prior.json", "empty-table"),
        ("same.csv", "prior.json", "equal-values"),
        ("same.csv", "none/prior.json", "cannot-write"),
        ("same.csv", ".", "cannot-write"),
    ],
)
def test_learn_prior_refuses_bad_files(tmp_path: Path, file: str, out: str, code: str) -> None:
    (tmp_path / "bad.csv").write_text("no table\n")
    table(tmp_path / "same.csv", np.ones((60, 3)))
    assert error_of("learn-prior", file, "--period", "12", "--out", out, cwd=tmp_path) == code


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), "not-imported"),
        (("--years", "none"), "invalid-years"),
        (("--period", "12"), "conflicting-options"),
        (("--transform", "sqrt"), "conflicting-options"),
    ],
)
def test_learn_prior_refuses_madrid_without_measurements(
    data_folder: Path, tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    assert error_of("learn-prior", "madrid", "--out", "prior.json", *options, cwd=tmp_path) == code


def test_learn_prior_makes_the_shipped_prior(madrid: Path, tmp_path: Path) -> None:
    out = tmp_path / "madrid.json"
    result = call("learn-prior", "madrid", "--years", "2016:2017", "--out", str(out))
    assert result.returncode == 0, result.stderr
    assert out.read_bytes() == SHIPPED["madrid"].read_bytes()

"""Pages of environments: what they say, their regrets and their moving pictures."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import periodic_envs
from periodic_envs.worlds.ride_share import RideShare

from site_pages import environments, films  # isort: skip
from site_pages.regrets import of_zoo, regrets_of  # isort: skip


@pytest.fixture(scope="module")
def worlds() -> dict[str, environments.Environment]:
    return {one.env_id: one for one in environments.environments()}


def test_every_environment_has_a_page(worlds: dict[str, environments.Environment]) -> None:
    assert set(worlds) == set(periodic_envs.ids())
    index = environments.environments_index(list(worlds.values()))
    for one in worlds.values():
        assert f"[{one.env_id}]({one.slug}.md)" in index
        assert re.search(rf"^{one.short} <{one.slug}>$", index, re.MULTILINE)
    assert worlds["PeriodicGP-RideShare-v0"].slug == "ride-share"


def test_the_page_of_an_environment(
    worlds: dict[str, environments.Environment], tmp_path: Path
) -> None:
    one = worlds["PeriodicGP-RideShare-v0"]
    page = environments.environment_page(one, of_zoo(), tmp_path)
    for name, parameter in inspect.signature(RideShare).parameters.items():
        assert f"| `{name}` | `{parameter.default!r}` |" in page
    assert "| `horizon` | `336` |" in page  # what the id sets, not what the class has
    assert "`Discrete(12)`" in page
    assert "| `regret` | `step` |" in page
    assert "| `phase` | `reset`, `step` |" in page
    assert re.search(r"\| `auto-gp-ucb` \| 0\.\d\d \|", page)
    assert "[the zoo](../../results/zoo.md)" in page
    assert "`max_episode_steps` as an argument of `gym.make` can only cut" in page
    assert "The exception is `warm_start`" not in page
    assert "pictures/ride-share.webp\n" in page
    assert "pictures/ride-share-dark.webp\n" in page


def test_a_warm_start_is_for_everybody(
    worlds: dict[str, environments.Environment], tmp_path: Path
) -> None:
    page = environments.environment_page(worlds["PeriodicGP-MadridSim-v0"], of_zoo(), tmp_path)
    assert "The exception is `warm_start`, which every agent is given." in page


def test_a_simulator_is_no_substitute_for_measurements(
    worlds: dict[str, environments.Environment], tmp_path: Path
) -> None:
    page = environments.environment_page(worlds["PeriodicGP-MadridSim-v0"], of_zoo(), tmp_path)
    assert "All rewards of this world are simulated" in page
    assert "There were no measurements" not in page


def test_regrets_say_how_long_their_runs_are(tmp_path: Path) -> None:
    of_the_zoo = regrets_of("PeriodicGP-HiddenPeriod-v0", of_zoo(), tmp_path)
    assert of_the_zoo is not None
    assert of_the_zoo.steps == 200  # the protocol's, not the world's own 400
    short = regrets_of("PeriodicGP-Madrid-v0", of_zoo(), tmp_path)
    assert short is not None
    assert short.steps == 192  # as many as the data have
    page = environments._regrets(short)
    assert page.count("steps") == 1
    assert "Regret after 192 steps" in page


def test_what_cannot_be_made_is_left_out_and_said(
    worlds: dict[str, environments.Environment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "regrets_of", lambda *_: None)
    one = replace(
        worlds["PeriodicGP-Flights-v0"], env=None, missing='pip install "periodic-gp[flights]"'
    )
    page = environments.environment_page(one, {}, tmp_path)
    assert "Left out" in page
    assert "periodic-gp[flights]" in page
    assert ".webp" not in page
    assert "| `start` | `'2013-03-03'` |" in page
    madrid = environments.environment_page(worlds["PeriodicGP-Madrid-v0"], of_zoo(), tmp_path)
    assert "of simulated data" in madrid  # the tests have no measurements


def test_regrets_are_made_once_and_kept(tmp_path: Path) -> None:
    found = regrets_of("PeriodicGP-Replay-v0", {}, tmp_path)
    assert found is not None
    assert found.values["oracle"] == 0.0
    assert found.values["uniform-random"] == 1.0
    assert found.values["auto-gp-ucb"] < found.values["random"]
    kept = tmp_path / "regrets" / "PeriodicGP-Replay-v0.json"
    kept.write_text(kept.read_text().replace('"oracle": 0.0', '"oracle": 0.5'))
    again = regrets_of("PeriodicGP-Replay-v0", {}, tmp_path)
    assert again is not None
    assert again.values["oracle"] == 0.5
    kept.write_text(kept.read_text().replace('"key": "', '"key": "x'))
    anew = regrets_of("PeriodicGP-Replay-v0", {}, tmp_path)
    assert anew == found


def test_films_are_small_and_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    still = rng.integers(0, 255, (60, 90, 3)).repeat(10, 0).repeat(10, 1).astype(np.uint8)
    frames = [np.roll(still, 10 * i, axis=1) for i in range(6)]
    films.write_film(frames, tmp_path / "film.webp")
    assert (tmp_path / "film.webp").stat().st_size <= films.MAX_BYTES
    with Image.open(tmp_path / "film.webp") as film:
        assert film.n_frames == 6
        assert film.width == films.WIDTH
    monkeypatch.setattr(films, "MAX_BYTES", 5_000)
    with pytest.raises(ValueError, match="larger than 5,000 bytes"):
        films.write_film(frames, tmp_path / "large.webp")


def test_films_have_a_dark_variant() -> None:
    actions = np.arange(8) % 3
    light, dark = (
        films.frames_of("PeriodicGP-RideShare-v0", actions, dark=dark) for dark in (False, True)
    )
    assert len(light) == len(dark) == 8
    assert light[0][0, 0].tolist() == [255, 255, 255]
    assert max(dark[0][0, 0]) < 40
    again = films.frames_of("PeriodicGP-RideShare-v0", actions)
    assert np.array_equal(light[-1], again[-1])  # the dark style is left


def test_films_depend_on_the_code(worlds: dict[str, environments.Environment]) -> None:
    keys = {one.env_id: films.film_key(one.env.setup.world) for one in worlds.values() if one.env}
    assert len(set(keys.values())) == len(keys)

"""Every setting a third of its default and three times as large, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from evaluation.studies.comparison import Comparison
from evaluation.studies.sensitivity.page import Sensitivity, numbers_of, text_of
from evaluation.studies.sensitivity.study import WORLDS, main
from evaluation.studies.sensitivity.variants import left_alone, variants_of
from evaluation.studies.stamp import stamps_in


def changes(agent: str) -> dict[str, tuple[str, str, str]]:
    return {v.setting: (v.default, v.less, v.more) for v in variants_of(agent)}


def test_numbers_are_scaled_and_words_are_left_alone() -> None:
    assert changes("sw-ucb") == {
        "xi": ("0.6", "sw-ucb:xi=0.2", "sw-ucb:xi=1.8"),
        "box_arms": ("20", "sw-ucb:box_arms=7", "sw-ucb:box_arms=60"),
    }
    assert left_alone("sw-ucb") == ["window", "scale"]
    assert changes("random") == {}
    assert "c" in left_alone("kl-ucb")  # three times nothing is nothing


def test_a_schedule_s_weight_is_scaled_where_it_matters() -> None:
    assert changes("gp-ucb")["beta"] == ("paper", "gp-ucb:beta=paper*0.333", "gp-ucb:beta=paper*3")
    assert "beta" not in changes("gp-thompson")
    assert "nu" not in changes("gp-ucb")


def test_settings_of_a_variant_are_kept() -> None:
    found = changes("periodic-gp-ucb:time_length_scale=1")
    assert found["time_length_scale"][1:] == (
        "periodic-gp-ucb:time_length_scale=0.333",
        "periodic-gp-ucb:time_length_scale=3.0",
    )
    assert found["length_scale"][1] == "periodic-gp-ucb:time_length_scale=1,length_scale=0.333"


def test_clearly_better_and_worse_settings_are_named() -> None:
    (variant,) = [v for v in variants_of("ucb1") if v.setting == "xi"]
    noise = pd.Series([0.0, 0.01, -0.01, 0.02, -0.02, 0.0])
    table = {"ucb1": 0.5 + noise, variant.less: 0.4 + noise[::-1], variant.more: 0.7 + noise}
    regret = pd.DataFrame({name: list(values) for name, values in table.items()})
    found = Sensitivity(Comparison(regret), [variant], ["ucb1"], ["`x`: why"])
    text = text_of(found, command="c", worlds=WORLDS, seeds="0:6")
    assert "- `ucb1:xi=0.667`: -0.10" in text
    assert "- `ucb1:xi=6.0`" not in text
    assert "| ucb1 | xi=0.667 | 0.50" in text
    assert "**0.40" in text
    assert "*0.70" in text
    assert "- `x`: why" in text
    assert numbers_of(found) == {"ucb1": pytest.approx({n: regret[n].mean() for n in regret})}


def test_a_quick_run_writes_a_stamped_page(tmp_path: Path) -> None:
    words = ["--quick", "--agents", "ucb1", "fixed", "--workers", "0"]
    main([*words, "--store", str(tmp_path / "s.sqlite"), "--docs", str(tmp_path)])
    page = (tmp_path / "sensitivity.md").read_text()
    assert "over 2 runs of each (seeds 2000:2002" in page
    assert "| fixed | box_arms | 20 |" in page
    assert (tmp_path / "sensitivity" / "ranges.png").stat().st_size > 1000
    (stamp,) = stamps_in(page)
    assert set(stamp.code["agents"]) == {"ucb1", "fixed"}

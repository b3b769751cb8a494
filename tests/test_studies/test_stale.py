"""Pages know which code made them, and one command says which of them is stale."""

import re
import shutil
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agents.registry import online_names
from evaluation import keys
from evaluation.store import Store
from studies import beyond, rl
from studies.flagship import AUTO, worlds
from studies.flagship.__main__ import PARTS
from studies.flagship.changed_city import changed_city
from studies.flagship.pictures import pictures
from studies.lab import Lab
from studies.pages import (
    SIMULATED,
    PageError,
    require_parts,
    stamped,
    write_page,
    write_part,
)
from studies.stale import PAGES, changes, findings, kept_findings
from studies.stamp import GONE, Stamp, StampError, make_stamp, stamps_in
from studies.zoo.study import ZooSize, write_controls, write_zoo
from studies.zoo.widths import COMMAND
from tests.test_evaluation.test_cli import call

ROOT = Path(__file__).parents[2]
STUDY, WORLD = "studies.beyond", "PeriodicGP-SyntheticDiscrete-v0"


@pytest.fixture(autouse=True)
def fresh_caches() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    """Our files do not change while a process runs them: here they do."""
    keys.scan_ours.cache_clear()
    keys._hash_of_ours.cache_clear()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our packages elsewhere, to be edited."""
    root = tmp_path_factory.mktemp("root")
    for package in ("agents", "evaluation", "periodic_envs"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("*.pyc"))
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny page of a study, as studies write it."""
    lab = Lab(None, Store(), workers=0)
    lab.run("tiny", envs=[WORLD], agents=["ucb1", "random"], horizon=4)
    write_page(tmp_path, "tiny", "# Tiny\n", {}, [lab.stamp("make tiny", study=STUDY)])
    return tmp_path


def states(folder: Path, root: Path = keys.ROOT) -> dict[str, str]:
    return {finding.page: finding.state for finding in findings(folder, root)}


def test_a_page_that_was_just_made_is_fresh(folder: Path) -> None:
    (stamp,) = stamps_in((folder / "tiny.md").read_text())
    assert list(stamp.code["agents"]) == ["random", "ucb1"]
    assert list(stamp.code["worlds"]) == [WORLD]
    assert all(len(code) == 16 for names in stamp.code.values() for code in names.values())
    assert states(folder) == {"tiny.md": "fresh"}
    result = call("stale", str(folder))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("tiny.md: fresh\n    made with version ")
    assert "; anew by: make tiny\n" in result.stdout
    assert result.stdout.endswith("All 1 are fresh.\n")


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("agents/zoo/arms/ucb1.py", "agents ucb1"),
        ("agents/zoo/gp/gp_ucb.py", ""),
        ("periodic_envs/worlds/synthetic.py", f"worlds {WORLD}"),
        ("periodic_envs/worlds/switching.py", ""),
        ("evaluation/play.py", "runner evaluation.running"),
        ("studies/beyond.py", f"study {STUDY}"),
        ("studies/markdown.py", f"study {STUDY}"),
        ("studies/zoo/page.py", ""),
        ("studies/stamp.py", ""),
        ("evaluation/store.py", ""),
    ],
)
def test_what_has_changed_since_is_named(
    folder: Path, copy: Path, file: str, sentence: str
) -> None:
    path = copy / file
    text = path.read_bytes()
    path.write_bytes(text + b"\nEDITED = True\n")
    try:
        (found,) = findings(folder, copy)
    finally:
        path.write_bytes(text)
    assert found.changes == ((sentence,) if sentence else ())
    assert found.state == ("stale" if sentence else "fresh")


def test_the_command_names_what_has_changed(folder: Path) -> None:
    page = folder / "tiny.md"
    (stamp,) = stamps_in(page.read_text())
    code = {**stamp.code, "agents": {"ucb1": "0" * 16, "random": "0" * 16, "lost": "0" * 16}}
    page.write_text(msgspec.structs.replace(stamp, code=code).written())
    result = call("stale", str(folder))
    assert result.returncode == 1
    assert "tiny.md: stale\n" in result.stdout
    assert (
        "changed since agents that are gone or not installed lost; agents ucb1, random\n"
        in result.stdout
    )
    assert result.stdout.endswith("1 of 1 are not fresh.\n")


def test_a_page_without_a_stamp_is_unknown(folder: Path) -> None:
    (folder / "zoo.md").write_text("# The zoo\n")
    (folder / "by_hand.md").write_text("# Not written by a study\n")
    assert states(folder) == {"tiny.md": "fresh", "zoo.md": "unknown"}
    result = call("stale", str(folder))
    assert result.returncode == 1
    assert (
        "zoo.md: unknown\n    made with unknown code; anew by: periodic-gp zoo\n" in result.stdout
    )
    assert "    since it has no stamp\n" in result.stdout
    broken = (folder / "tiny.md").read_text().replace('"command"', '"comand"')
    (folder / "tiny.md").write_text(broken)
    with pytest.raises(StampError, match="cannot be read"):
        stamps_in(broken)
    assert states(folder)["tiny.md"] == "unknown"


def test_what_a_page_rests_on_is_listed_with_it(
    folder: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chosen widths, which docs/zoo.md is made with, have a stamp of their own."""
    (folder / "zoo.md").write_text("# The zoo\n")
    result = call("stale", str(folder))
    assert "\nwidths.json: " in result.stdout
    assert "; anew by: python -m studies.zoo.widths --write\n" in result.stdout
    stamp = make_stamp("x", study=STUDY, agents=["ucb1"], worlds=[WORLD])
    kept = copy / "evaluation" / "studies" / "zoo" / "widths.json"
    before = kept.read_bytes()
    monkeypatch.setattr("studies.stale.unfinished", list)
    code = {kind: names for kind, names in stamp.code.items() if kind != "study"}
    kept.write_bytes(msgspec.json.encode({"stamp": msgspec.structs.replace(stamp, code=code)}))
    (found,) = kept_findings(folder, copy)
    assert (found.page, found.state) == ("widths.json", "fresh")
    monkeypatch.setattr("studies.stale.unfinished", lambda: ["the widths of x"])
    (found,) = kept_findings(folder, copy)
    assert (found.state, found.changes) == ("stale", ("the widths of x",))
    old = {**code, "agents": {"ucb1": "0" * 16}}
    kept.write_bytes(msgspec.json.encode({"stamp": msgspec.structs.replace(stamp, code=old)}))
    (found,) = kept_findings(folder, copy)
    assert found.changes == ("agents ucb1", "the widths of x")
    kept.write_text('{"chosen": {}}')
    (found,) = kept_findings(folder, copy)
    assert (found.state, found.command) == ("unknown", COMMAND)
    kept.write_bytes(before)
    assert list(kept_findings(copy, copy)) == []


def test_a_folder_without_pages_is_said(tmp_path: Path) -> None:
    assert "there is no folder" in call("stale", str(tmp_path / "away")).stderr
    result = call("stale", str(tmp_path))
    assert (result.returncode, result.stdout) == (1, "")
    assert "has no page that a study wrote" in result.stderr


def test_a_new_agent_is_missing_where_all_were_run(monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = make_stamp("x", study=STUDY, agents=online_names())
    assert stamp.every_agent
    assert list(changes(stamp)) == []
    more = [*online_names(), "newcomer"]
    monkeypatch.setattr("studies.stale.online_names", lambda: more)
    assert list(changes(stamp)) == ["agents that are new newcomer"]
    assert list(changes(make_stamp("x", study=STUDY, agents=["ucb1"]))) == []


def test_a_stamp_stays_within_its_comment() -> None:
    stamp = make_stamp("a --> b", study="studies.none")
    assert stamp.code["study"] == {"studies.none": GONE}
    assert stamp.written().count("-->") == 1
    assert stamps_in(f"before\n{stamp.written()}after") == [stamp]


def test_new_rows_among_old_ones_leave_a_part_as_old_as_it_was() -> None:
    new = make_stamp("x", study=STUDY, agents=["ucb1", "random"], part="core")
    code = {**new.code, "agents": {"ucb1": "0" * 16}}
    old = msgspec.structs.replace(new, version="0.0.1", code=code)
    both = new.over(old)
    assert (both.version, list(changes(both))) == ("0.0.1", ["agents ucb1"])
    assert set(both.code["agents"]) == {"ucb1", "random"}
    assert new.over(None) is new


# --- parts of a page by hand -------------------------------------------------------------------


def test_a_part_is_written_into_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- one -->\nold\n<!-- end of one -->\n\nBy hand.\n")
    for text in ("first", "second"):
        write_part(page, text, make_stamp("x", study=STUDY, part="one"))
    written = page.read_text()
    assert written.startswith("# A\n\n<!-- one -->\nsecond\n\n<!-- made with\n")
    assert written.endswith("-->\n<!-- end of one -->\n\nBy hand.\n")
    assert [stamp.part for stamp in stamps_in(written)] == ["one"]
    with pytest.raises(PageError, match="has no place <!-- two -->"):
        require_parts(page, ["one", "two"])
    with pytest.raises(PageError, match="there is no page"):
        require_parts(tmp_path / "none.md", [])


def test_tables_beyond_the_paper_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    claims = [beyond.Claim(WORLD, "ucb1", ("random",), 1.0)]
    monkeypatch.setitem(beyond.STUDIES, "hidden", lambda: iter(claims))
    common = ["hidden", "--seeds", "0:2", "--workers", "0", "--store", str(tmp_path / "s.sqlite")]
    with pytest.raises(SystemExit, match="there is no page"):
        beyond.main([*common, "--docs", str(tmp_path)])
    shutil.copy(ROOT / "docs" / "beyond.md", tmp_path)
    beyond.main(common)
    assert "| SyntheticDiscrete-v0 | ucb1 |" in capsys.readouterr().out
    assert "SyntheticDiscrete-v0 | ucb1" not in (tmp_path / "beyond.md").read_text()
    beyond.main([*common, "--docs", str(tmp_path)])
    page = (tmp_path / "beyond.md").read_text()
    assert "| SyntheticDiscrete-v0 | ucb1 |" in page
    (stamp,) = (stamp for stamp in stamps_in(page) if stamp.part == "hidden")
    assert list(stamp.code["agents"]) == ["random", "ucb1"]
    assert list(changes(stamp)) == []


def test_tables_of_generic_rl_are_written(tmp_path: Path) -> None:
    entries = [{"name": "ucb1"}, {"name": "random"}]
    lab = Lab(None, Store(), workers=0)
    results = lab.run("tiny", envs=[WORLD], agents=entries, seeds=2, horizon=8)
    lines = rl.track_text(results, "online").splitlines()
    world = WORLD.removeprefix("PeriodicGP-").removesuffix("-v0")
    assert lines[0] == f"| normalised regret | {world} |"  # nobody was trained
    assert {line.split(" | ")[0] for line in lines[2:4]} == {"| ucb1", "| random"}
    assert lines[4].startswith("| *best-per-phase* | ")


# --- what was run --------------------------------------------------------------------------------


def test_the_zoo_s_pages_are_stamped(tmp_path: Path) -> None:
    size = ZooSize("quick", seeds=2, horizon=8, worlds=("PeriodicGP-Piecewise-v0",))
    with Store(tmp_path / "s.sqlite") as store:
        zoo = write_zoo(size, store=store, out=tmp_path, workers=0, agents=["random", "gp-ucb"])
        controls = write_controls(size, store=store, out=tmp_path, workers=0)
    for page in (zoo, controls):
        (stamp,) = stamps_in(page.read_text())
        assert {"et-gp-ucb", "gp-ucb", "linucb"} <= set(stamp.code["agents"])
        assert not stamp.every_agent
    assert states(tmp_path) == {"zoo.md": "fresh", "zoo-controls.md": "fresh"}


def test_what_is_played_without_a_sweep_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Played(Exception):
        pass

    def play(*_: object) -> None:
        raise Played

    options = Namespace(years=(2017,), docs=tmp_path, store=tmp_path / "s.sqlite")
    place = "studies.flagship"
    for name in ("worlds", "pictures"):
        monkeypatch.setattr(f"{place}.{name}.play", play)
    monkeypatch.setattr(f"{place}.changed_city.check_imported", lambda years: None)
    monkeypatch.setattr(f"{place}.changed_city.prior_without", lambda year, folder: "madrid")
    monkeypatch.setattr(Lab, "map", play)
    for part in (worlds.cost, pictures, changed_city):
        lab = Lab(options, Store(), workers=0)
        with pytest.raises(Played):
            part(lab)
        assert AUTO in lab.agents, part
        assert lab.worlds, part


def test_whoever_plays_without_a_sweep_says_so() -> None:
    for path in sorted((ROOT / "evaluation" / "studies").rglob("*.py")):
        text = path.read_text()
        if "evaluation.play" in text:
            assert ".uses(" in text, path


# --- the pages of this repository ----------------------------------------------------------------


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_page_that_a_study_writes_has_a_stamp(page: str) -> None:
    stamps = stamps_in((ROOT / "docs" / page).read_text())
    assert stamps
    assert len({stamp.part for stamp in stamps}) == len(stamps)
    for stamp in stamps:
        assert stamp.command.startswith(PAGES[page].removesuffix(" --docs docs"))
        assert re.fullmatch(r"[0-9a-f]{40}( with changes)?", stamp.commit or "")


def test_the_list_of_pages_is_whole() -> None:
    paths = (ROOT / "docs").glob("*.md")
    assert {path.name for path in paths if stamps_in(path.read_text())} == set(PAGES)


def test_every_part_of_a_page_has_its_place_and_stamp() -> None:
    docs = ROOT / "docs"
    require_parts(docs / beyond.PAGE, list(beyond.STUDIES))
    require_parts(docs / rl.PAGE, list(rl.PARTS))
    require_parts(docs / "madrid_simulator.md", ["table"])
    for page, parts in ((beyond.PAGE, beyond.STUDIES), (rl.PAGE, rl.PARTS), ("auto-gp.md", PARTS)):
        found: list[Stamp] = stamps_in((docs / page).read_text())
        assert {stamp.part for stamp in found} == set(parts)


def test_pages_with_a_simulated_world_say_so_below_their_title() -> None:
    assert stamped("# Plain\n\nNothing.\n", []) == "# Plain\n\nNothing.\n"
    lines = stamped("# Title\n\n| MadridSim | 0.5 |\n", []).splitlines()
    assert lines == ["# Title", "", SIMULATED, "", "| MadridSim | 0.5 |"]
    assert stamped("MadridSim: 0.5", []) == f"{SIMULATED}\n\nMadridSim: 0.5"

"""Fixtures of all tests; no window opens, and the user's data and settings are not touched."""

import os
import signal
import tempfile
import warnings
from pathlib import Path

import pytest
from filelock import FileLock

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
# Before NumPy and torch are imported: with more threads than cores tests take many times as long.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# A shell starts background jobs with Ctrl-C ignored, and their children would ignore it, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

MADRID = Path(__file__).parents[2] / "shared" / "data" / "madrid"
"""Real measurements, which are not part of this repository."""
NIGHTLY = (
    *("attacks", "fuzz", "kills", "test_browser", "test_site", "test_recipes.py"),
    *("test_platforms.py", "test_studies/test_pages.py", "test_evaluation/test_dask.py"),
)
"""Folders and modules whose tests do not run with every push."""


# An empty data folder, unless a test uses `madrid`: some tests make environments while they are
# collected. The warning about simulated data is given once per process: here.
_EMPTY = tempfile.TemporaryDirectory()
os.environ["PERIODIC_GP_DATA"] = _EMPTY.name
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from periodic_envs.worlds.madrid import Madrid

    Madrid()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that only ``make test-all`` runs."""
    places = [Path(__file__).parent / name for name in NIGHTLY]
    for item in items:
        if any(item.path.is_relative_to(place) for place in places):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session")
def madrid_files() -> Path:
    """The folder of the portal's files."""
    if not MADRID.is_dir():
        text = "the Madrid measurements are not in ../shared/data/madrid"
        if os.environ.get("PERIODIC_GP_REQUIRE_MADRID"):
            pytest.fail(f"{text}, and PERIODIC_GP_REQUIRE_MADRID is set")
        pytest.skip(f"SKIPPED: {text}")
    return MADRID


@pytest.fixture(scope="session")
def imported_folder(madrid_files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the imported years 2016 to 2018."""
    from periodic_envs.data.madrid.importing import import_paths

    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # of all processes
    folder = base / "imported"
    with FileLock(f"{folder}.lock"), pytest.MonkeyPatch.context() as patch:
        if not folder.exists():
            patch.setenv("PERIODIC_GP_DATA", str(base / "importing"))
            import_paths([madrid_files])
            (base / "importing").rename(folder)
    return folder


@pytest.fixture
def madrid(imported_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The imported measurements, in use."""
    monkeypatch.setenv("PERIODIC_GP_DATA", str(imported_folder))
    return imported_folder


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder of the test."""
    folder = tmp_path / "data"
    monkeypatch.setenv("PERIODIC_GP_DATA", str(folder))
    return folder

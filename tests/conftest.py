"""Windows are drawn on no screen; nobody's imported measurements are touched."""

import os
import tempfile
import warnings
from pathlib import Path

import pytest

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
# Before NumPy and torch are imported: threads that fight over two cores make minutes of seconds.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

MADRID = Path(__file__).parents[2] / "shared" / "data" / "madrid"
"""Real measurements, where there are any. They are no part of this repository."""


# An empty data folder, unless a test asks for `madrid`. Now, because some tests make environments
# while they are collected. The warning that there is nothing in it is said once per process: here.
_EMPTY = tempfile.TemporaryDirectory()
os.environ["PERIODIC_GP_DATA"] = _EMPTY.name
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from periodic_envs.worlds.madrid import Madrid

    Madrid()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep tests that share a fixture of their module or package in one process of xdist.

    Such fixtures are expensive, up to minutes: otherwise every process would make its own.
    """
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            fixtures = getattr(item, "_fixtureinfo", None)
            found = fixtures.name2fixturedefs.values() if fixtures else ()
            shared = [f[-1] for f in found if f and f[-1].scope in ("module", "package")]
            if shared:
                item.add_marker(pytest.mark.xdist_group(min(f.baseid for f in shared)))


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
    """A data folder with 2016 to 2018, imported once."""
    from periodic_envs.data.madrid.importing import import_paths

    folder = tmp_path_factory.mktemp("imported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERIODIC_GP_DATA", str(folder))
        import_paths([madrid_files])
    return folder


@pytest.fixture
def madrid(imported_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The imported measurements are in use."""
    monkeypatch.setenv("PERIODIC_GP_DATA", str(imported_folder))
    return imported_folder


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder of one's own."""
    folder = tmp_path / "data"
    monkeypatch.setenv("PERIODIC_GP_DATA", str(folder))
    return folder

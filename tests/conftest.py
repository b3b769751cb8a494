"""Windows are drawn on no screen; nobody's imported measurements are touched."""

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

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


def shared_scope(nodeid: str) -> str:
    """The package or module whose fixtures a test may share, or else the test itself.

    A fixture of a module or package is expensive, up to minutes. Tests that share one are run by
    one process of xdist: otherwise every process would make its own.
    """
    module = nodeid.partition("::")[0]
    path = Path(__file__).parents[1] / module
    package = path.with_name("conftest.py")
    if package.is_file() and 'scope="package"' in package.read_text():
        return module.rpartition("/")[0]
    return module if 'scope="module"' in path.read_text() else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out tests by their scope. (xdist's own groups do nothing with pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return shared_scope(nodeid)

    return Scheduling(config, log)


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

"""The imported years on disk."""

import json
from pathlib import Path

import numpy as np
import pytest

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.importing import import_paths
from tests.test_envs.portal_files import csv, csv_line
from tests.test_envs.test_importing import write


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERIODIC_GP_DATA", str(write(tmp_path / "file", b"") / "inside"))
    with pytest.raises(DataError, match=r"cannot write .* set PERIODIC_GP_DATA to a folder"):
        import_paths([write(tmp_path / "a.csv", csv(csv_line()))])


def test_a_damaged_cache(tmp_path: Path, data_folder: Path) -> None:
    import_paths([write(tmp_path / "a.csv", csv(csv_line()))])
    path = data_folder / "madrid-2018.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(DataError, match=r"2018 .* cannot be read .* delete the file and import"):
        cache.table(2018, 7)
    with np.load(data_folder / write(path, whole).name) as arrays:
        changed = {name: arrays[name].copy() for name in arrays.files}
    about = json.loads(bytes(changed["about"]))
    changed["about"] = np.frombuffer(json.dumps({**about, "format": "x"}).encode(), dtype=np.uint8)
    np.savez(path, **changed)
    with pytest.raises(DataError, match="another version wrote it"):
        cache.entry(2018)


def test_importing_again_replaces_a_damaged_year_that_was_deleted(
    tmp_path: Path, data_folder: Path
) -> None:
    file = write(tmp_path / "a.csv", csv(csv_line(), csv_line(date=(2017, 3, 1))))
    first = import_paths([file])
    (data_folder / "madrid-2018.npz").write_bytes(b"junk")
    with pytest.raises(DataError, match=r"2018 .* delete the file and import"):
        import_paths([file])
    # A damaged year that is not in the files does not matter.
    import_paths([write(tmp_path / "b.csv", csv(csv_line(date=(2017, 3, 1))))])
    (data_folder / "madrid-2018.npz").unlink()
    again = import_paths([file])
    assert [e.fingerprint for e in again.entries] == [e.fingerprint for e in first.entries]


def test_an_entry_knows_its_days(tmp_path: Path, data_folder: Path) -> None:
    lines = csv(csv_line(), csv_line(date=(2018, 3, 5)))
    (entry,) = import_paths([write(tmp_path / "a.csv", lines)]).entries
    assert entry.days == cache.entry(2018).days == ("2018-03-01", "2018-03-05", 2)


def test_nothing_of_the_kind_was_measured(tmp_path: Path, data_folder: Path) -> None:
    import_paths([write(tmp_path / "a.csv", csv(csv_line()))])
    with pytest.raises(DataError, match=r"O3 was not measured in 2018; there are NO"):
        cache.table(2018, 14)


def test_an_import_removes_what_a_killed_one_left(tmp_path: Path, data_folder: Path) -> None:
    given = [write(tmp_path / "a.csv", csv(csv_line()))]
    import_paths(given)
    left = write(data_folder / ".0123.part", b"half a table")
    import_paths(given)
    assert not left.exists()

"""What is in the sdist and the wheel: ``python tests/distributions.py FOLDER``.

Both are made by ``make dist``, which calls this before anything is published.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("periodic_envs", "agents", "evaluation")
DATA = {".toml", ".json", ".csv", ".css", ".js", ".j2", ".safetensors", ".typed"}
"""Files that packages read beside their code."""
NEVER_INSTALLED = ("tests", "examples", "docs", "benchmarks", "leaderboard", "paper.md", "conftest")


def needed(root: Path = ROOT) -> set[str]:
    """All files of the packages that they need at work, from the root of the repository."""
    files = (path for package in PACKAGES for path in (root / package).rglob("*"))
    kinds = DATA | {".py"}
    kept = (path for path in files if path.suffix in kinds or path.name == "py.typed")
    return {path.relative_to(root).as_posix() for path in kept if path.is_file()}


def faults_of_wheel(names: set[str], metadata: Message, wanted: set[str]) -> list[str]:
    """What is wrong with a wheel, a sentence each."""
    faults = [f"the wheel has no {name}" for name in sorted(wanted - names)]
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    faults += [f"the wheel installs {top!r}" for top in sorted(tops - set(PACKAGES))]
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        faults.append("the wheel has no license")
    for field in ("Name", "Version", "Summary", "License-Expression", "Requires-Python"):
        if not metadata.get(field):
            faults.append(f"the wheel's metadata have no {field}")
    return faults


def faults_of_sdist(names: set[str], wanted: set[str]) -> list[str]:
    """What is wrong with an sdist, a sentence each."""
    more = {"pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "tests/conftest.py"}
    faults = [f"the sdist has no {name}" for name in sorted((wanted | more) - names)]
    stray = {name for name in names if name.startswith((".venv", "out/", "leaderboard/"))}
    return faults + [f"the sdist has {name}" for name in sorted(stray)]


def read_wheel(path: Path) -> tuple[set[str], Message]:
    """The names of its files, and its metadata."""
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        (place,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        return names, message_from_string(wheel.read(place).decode())


def read_sdist(path: Path) -> set[str]:
    """The names of its files, from its own root."""
    with tarfile.open(path) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def main() -> None:
    """Name every fault and end with 1, or say that there is none."""
    folder, wanted = Path(sys.argv[1]), needed()
    (wheel,), (sdist,) = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    faults = faults_of_wheel(*read_wheel(wheel), wanted)
    faults += faults_of_sdist(read_sdist(sdist), wanted)
    if faults:
        raise SystemExit("\n".join(faults))
    print(f"{wheel.name} and {sdist.name} have all {len(wanted)} files of the packages.")


if __name__ == "__main__":
    main()

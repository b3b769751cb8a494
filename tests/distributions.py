"""Check the files of the sdist and the wheel: ``python tests/distributions.py FOLDER``.

``make dist`` runs it before anything is published.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("periodic_envs", "agents", "evaluation", "periodic_decisions")
SUFFIXES = {".py", ".toml", ".json", ".csv", ".css", ".js", ".j2", ".safetensors", ".typed"}
DOCUMENTS = {"pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "tests/conftest.py"}
"""Files of the sdist besides the packages."""


def main() -> None:
    """Name every missing or foreign file, and end with status 1 if there is one."""
    (wheel,), (sdist,) = Path(sys.argv[1]).glob("*.whl"), Path(sys.argv[1]).glob("*.tar.gz")
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*")]
    needed = {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.suffix in SUFFIXES or path.name == "py.typed"
    }
    with zipfile.ZipFile(wheel) as file:
        installed = {name for name in file.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    faults = [f"the wheel lacks {name}" for name in sorted(needed - installed)]
    faults += [f"the sdist lacks {name}" for name in sorted((needed | DOCUMENTS) - packed)]
    foreign = {name for name in installed if name.partition("/")[0] not in PACKAGES}
    faults += [f"the wheel installs {name}" for name in sorted(foreign)]
    stray = {name for name in packed if name.startswith((".venv", "out/", "leaderboard/"))}
    faults += [f"the sdist has {name}" for name in sorted(stray)]
    if faults:
        raise SystemExit("\n".join(faults))
    print(f"{wheel.name} and {sdist.name} have all {len(needed)} files of the packages.")


if __name__ == "__main__":
    main()

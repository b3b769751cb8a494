"""Run what is missing for the page of a study and write its data: ``make study NAME=zoo``.

A study has a protocol for each of its parts: a file of this folder, or one that ships with the
package. Finished runs stay in ``out/studies/PART.sqlite``; the pages read ``data/PART.parquet``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import evaluation

FOLDER = Path(__file__).parent
SHIPPED = {
    "paper": "paper",
    "flagship-madrid": "madrid-2018",
    "flagship-flights": "flights",
    "zoo": "standard",
    "peers": "peers",
    "rl": "rl",
}
"""Protocols of the package, by the part of a study that runs them."""
POINTS = 25
"""Points of the curve of each run that are kept."""


def parts(name: str) -> dict[str, Path | str]:
    """Return the protocols of a study by part.

    Raises:
        ValueError: If no study has this name.
    """
    files = sorted(FOLDER.glob("*.toml"))
    every: dict[str, Path | str] = {**SHIPPED, **{path.stem: path for path in files}}
    chosen = {part: every[part] for part in every if part.partition("-")[0] == name}
    if not chosen:
        known = sorted({part.partition("-")[0] for part in every})
        raise ValueError(f"no study has the name {name!r}; known are: {', '.join(known)}")
    return chosen


def run_study(
    name: str,
    *,
    stores: Path = Path("out/studies"),
    data: Path = FOLDER / "data",
    seeds: str | None = None,
    workers: int | None = None,
) -> list[Path]:
    """Run what is missing of a study and return the files of totals that were written.

    Args:
        name: Name of the study.
        stores: Folder of the stores, in which finished runs are looked up.
        data: Folder of the files of totals.
        seeds: Seeds instead of those of the protocols, such as "0:2" to try a study.
        workers: Processes; one per core by default.
    """
    stores.mkdir(parents=True, exist_ok=True)
    data.mkdir(parents=True, exist_ok=True)
    written = []
    for part, protocol in parts(name).items():
        store = stores / f"{part}.sqlite"
        results = evaluation.run(protocol, seeds=seeds, store=store, workers=workers)
        results.save_totals(data / f"{part}.parquet", points=POINTS)
        written.append(data / f"{part}.parquet")
    return written


def main(arguments: list[str] | None = None) -> None:
    """Run a study from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("name", help="name of the study, such as zoo")
    parser.add_argument("--seeds", help='seeds instead of those of the protocols, such as "0:2"')
    parser.add_argument("--workers", type=int, help="processes; one per core by default")
    parser.add_argument("--data", type=Path, default=FOLDER / "data", help="folder to write to")
    options = parser.parse_args(arguments)
    for path in run_study(
        options.name, data=options.data, seeds=options.seeds, workers=options.workers
    ):
        print(f"written: {path}")


if __name__ == "__main__":
    main()

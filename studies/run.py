"""Execute the missing runs of a study and write its data: ``make study NAME=zoo``.

A study has a protocol for each of its parts: a file in this folder, or a protocol of the package.
Finished runs stay in ``out/studies/PART.sqlite``; the pages read ``data/PART.parquet``.
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
"""Protocols of the package, by the part of a study that uses them."""
POINTS = 25
"""Number of points of the regret curve that are kept for each run."""


def parts(name: str) -> dict[str, Path | str]:
    """Return the protocols of a study, by the names of its parts.

    Raises:
        ValueError: If no study has this name.
    """
    files = sorted(FOLDER.glob("*.toml"))
    every: dict[str, Path | str] = {**SHIPPED, **{path.stem: path for path in files}}
    chosen = {part: every[part] for part in every if part.partition("-")[0] == name}
    if not chosen:
        known = sorted({part.partition("-")[0] for part in every})
        raise ValueError(f"unknown study {name!r}: expected one of {', '.join(known)}")
    return chosen


def run_study(
    name: str,
    *,
    stores: Path = Path("out/studies"),
    data: Path = FOLDER / "data",
    seeds: str | None = None,
    workers: int | None = None,
) -> list[Path]:
    """Execute the missing runs of a study and return the files of totals that were written.

    Args:
        name: Name of the study.
        stores: Folder of the stores with finished runs.
        data: Folder for the files of totals.
        seeds: Seeds that replace those of the protocols; for example, "0:2" for a short test.
        workers: Number of processes; by default one per core.
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
    parser.add_argument("--seeds", help='seeds that replace those of the protocols, such as "0:2"')
    parser.add_argument("--workers", type=int, help="number of processes; default: one per core")
    parser.add_argument("--data", type=Path, default=FOLDER / "data", help="folder to write to")
    options = parser.parse_args(arguments)
    for path in run_study(
        options.name, data=options.data, seeds=options.seeds, workers=options.workers
    ):
        print(f"written: {path}")


if __name__ == "__main__":
    main()

"""Run the parts that are asked for, and write the page."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation.specs import ProtocolError, UnknownWorldError
from periodic_envs.data.errors import DataError
from periodic_envs.files import write_atomically
from studies import flagship
from studies.flagship import FlagshipLab
from studies.flagship.changed_city import changed_city
from studies.flagship.madrid import madrid, madrid_2018
from studies.flagship.options import BY_NAME, flagship_parser, parsed
from studies.flagship.page import PAGE, section, write_page
from studies.flagship.pictures import pictures
from studies.flagship.rideshare import rideshare
from studies.flagship.tables import tables
from studies.flagship.worlds import core, cost, merged, unknown_period
from studies.lab import study_lab
from studies.stamp import Stamp, StampError, stamps_in

COMMAND = "python -m studies.flagship"
PARTS: dict[str, Callable[[FlagshipLab], Any]] = {
    "tables": tables,
    "rideshare": rideshare,
    "madrid": madrid,
    "changed-city": changed_city,
    "core": core,
    "unknown-period": unknown_period,
    "cost": cost,
    "pictures": pictures,
    "madrid-2018": madrid_2018,
}


def main(arguments: list[str] | None = None) -> None:
    """Run the parts that are asked for, and write the page."""
    options = parsed(flagship_parser(flagship.__doc__ or "", list(PARTS)), arguments)
    chosen = options.parts or [name for name in PARTS if name not in BY_NAME]
    if options.docs is not None:
        options.docs.mkdir(parents=True, exist_ok=True)
    try:
        with study_lab("auto-gp", options) as lab:
            _run(chosen, lab, options)
    except (DataError, ProtocolError, StampError, UnknownWorldError) as error:
        raise SystemExit(f"{error}") from error


def _run(chosen: list[str], lab: FlagshipLab, options: Namespace) -> None:
    """Part by part; what is found is kept at once, if it is to be kept."""
    kept: Path | None = options.docs and options.docs / "auto-gp.json"
    figures: dict[str, Any] = json.loads(kept.read_text()) if kept and kept.is_file() else {}
    stamps = _stamps(options.docs / PAGE) if kept else {}
    for name in chosen:
        study = PARTS[name]
        found = study(lab)
        print(section(name, found), flush=True)
        stamp = lab.stamp(f"{COMMAND} {name}", study=study.__module__, part=name)
        if name == "core" and options.worlds:
            found, stamp = merged(figures.get(name, []), found), stamp.over(stamps.get(name))
        figures[name], stamps[name] = found, stamp
        if kept:
            write_atomically(kept, f"{json.dumps(figures, indent=1)}\n".encode())
            write_page(figures, options.docs, stamps.values())


def _stamps(page: Path) -> dict[str, Stamp]:
    """What the parts of the page were made with that are there already."""
    found = stamps_in(page.read_text(encoding="utf-8")) if page.is_file() else []
    return {stamp.part: stamp for stamp in found}


if __name__ == "__main__":
    main()

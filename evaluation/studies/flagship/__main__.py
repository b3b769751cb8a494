"""Run the parts that are asked for, and write the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from evaluation.studies import flagship
from evaluation.studies.flagship import FlagshipLab, Rows
from evaluation.studies.flagship.page import write_page
from evaluation.studies.flagship.pictures import pictures
from evaluation.studies.flagship.windows import ablation, madrid_2018, share
from evaluation.studies.flagship.worlds import core, cost, merged, unknown_period
from evaluation.studies.lab import study_lab, study_parser

PARTS: dict[str, Callable[[FlagshipLab], Rows]] = {
    "core": core,
    "unknown-period": unknown_period,
    "ablation": ablation,
    "share": share,
    "madrid-2018": madrid_2018,
    "cost": cost,
}


def main() -> None:
    """Run the parts that are asked for, and write the page."""
    names = [*PARTS, "pictures"]
    about = flagship.__doc__ or ""
    parser = study_parser(about, store="auto-gp.sqlite", seeds="0:40", parts=names)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="Folder of the page.")
    words = "Only these worlds of core; the others keep their rows."
    parser.add_argument("--worlds", nargs="*", help=words)
    options = parser.parse_args()
    options.docs.mkdir(parents=True, exist_ok=True)
    kept = options.docs / "auto-gp.json"
    figures = json.loads(kept.read_text()) if kept.is_file() else {}
    with study_lab("auto-gp", options) as lab:
        for name in options.parts or names:
            if name == "pictures":
                figures[name] = pictures(options.docs)
            else:
                found = PARTS[name](lab)
                print(*found, sep="\n", flush=True)
                partial = name == "core" and options.worlds
                figures[name] = merged(figures["core"], found) if partial else found
            kept.write_text(json.dumps(figures, indent=1) + "\n")
    write_page(figures, options.docs)


if __name__ == "__main__":
    main()

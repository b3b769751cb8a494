"""Simulate, judge, print, and write what is to be written."""

from __future__ import annotations

from typing import Any

import msgspec

from periodic_envs.arrays import Array
from studies import ope
from studies.lab import Lab, study_lab, study_parser
from studies.ope.measure import Part, Score, judge, score
from studies.ope.page import Key, coverage_table, ordered, page
from studies.ope.simulate import LOGGING, LONG, SETTINGS
from studies.pages import write_page

STUDY = "studies.ope"
LOGS, QUICK_LOGS = 200, 20
CHUNK = 20
"""Logs that a process judges at once."""
KINDS = (*((name, False) for name in LOGGING), ("schedule", True))
"""The logging policies, and whether their probabilities are estimated."""
CASES = (
    *((setting, *kind) for setting in SETTINGS for kind in KINDS),
    *((setting, "epsilon-greedy", False) for setting in LONG),
)
"""World, logging policy, and whether probabilities are estimated."""


def measure(lab: Lab[Any], logs: int) -> dict[Key, Score]:
    """The scores of all estimators everywhere."""
    parts = [
        Part(setting, logging, estimated, CHUNK, seed)
        for setting, logging, estimated in CASES
        for seed in range(logs // CHUNK)
    ]
    lab.uses(worlds={setting.env_id for setting in SETTINGS.values()})
    errors: dict[Key, list[Array]] = {}
    for part, found in zip(parts, lab.map("logs", judge, parts), strict=True):
        for (target, estimator), rows in found.items():
            key = (part.setting, part.logging, part.estimated, target, estimator)
            errors.setdefault(key, []).append(rows)
    return ordered({key: score(rows) for key, rows in errors.items()})


def main(arguments: list[str] | None = None) -> None:
    """Simulate, judge, print, and write what is to be written."""
    parser = study_parser(ope.__doc__ or "", store="ope.sqlite", page="logs.md")
    parser.add_argument("--logs", type=int, default=LOGS, help="Logs of each kind.")
    parser.add_argument("--quick", action="store_true", help="Few logs: too few to decide.")
    options = parser.parse_args(arguments)
    logs = QUICK_LOGS if options.quick else max(CHUNK, options.logs - options.logs % CHUNK)
    command = f"python -m {STUDY}"
    command += " --quick" if options.quick else "" if logs == LOGS else f" --logs {logs}"
    command += " --docs docs"
    with study_lab("ope", options) as lab:
        scores = measure(lab, logs)
        print(coverage_table(scores))
        stamp = lab.stamp(command, study=STUDY)
        if options.docs:
            numbers = [_plain(key, found) for key, found in scores.items()]
            text = page(scores, command, logs)
            write_page(options.docs, "logs", text, numbers, [stamp])


def _plain(key: Key, found: Score) -> dict[str, Any]:
    names = dict(zip(("world", "logging", "estimated", "judged", "estimator"), key, strict=True))
    numbers = {k: None if v != v else v for k, v in msgspec.to_builtins(found).items()}
    return {**names, **numbers}


if __name__ == "__main__":
    main()

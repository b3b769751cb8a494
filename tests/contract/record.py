"""Record today's figures; ``git diff`` then shows what has changed.

python -m tests.contract.record [envs] [agents] [commands]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from tests.contract import commands, trajectories, worlds
from tests.contract.conftest import GOLDEN, pinned_kernel

RECORDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "envs": lambda: {env_id: worlds.scalar_draws(env_id) for env_id in worlds.ids()},
    "agents": lambda: trajectories.compute(save_at=None),
    "commands": commands.compute,
}


def main() -> None:
    """Write the files, one line per entry."""
    if not pinned_kernel():
        raise SystemExit("figures are recorded on Linux with AVX2")
    for name in sys.argv[1:] or RECORDERS:
        entries = RECORDERS[name]()
        lines = [f"{json.dumps(key)}: {json.dumps(entries[key])}" for key in sorted(entries)]
        (GOLDEN / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        os.environ["PERIODIC_GP_DATA"] = folder
        warnings.simplefilter("ignore")
        main()

"""Write the transcripts again; ``git diff`` then shows what has changed."""

import os
import sys
import tempfile
from pathlib import Path

from tests.snapshots.transcripts import names, path_of, replay


def main() -> None:
    """Update the transcripts that the arguments name, by default all."""
    for name in sys.argv[1:] or names():
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            os.environ["PERIODIC_GP_DATA"] = str(place / "data")
            lines = list(replay(path_of(name).read_text(encoding="utf-8"), place))
        path_of(name).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""The table of attacks, made from the tests that carry them out."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = ("test_spies", "test_cheats", "test_exhaustion", "test_bundles", "test_logs")
NOT_STOPPED = "not stopped"
STOPPED_BY = (
    *("run", "submit", "well-formed", "replayed", "re-run", "hidden-seed", "log", "page"),
    NOT_STOPPED,
)
PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"
_HEAD = """# Attacks on the judge

Every way that we know of to get a better place than one's agent deserves, or to harm whoever
judges it, and what becomes of it. Written by `python -m tests.attacks` from the tests that carry
the attacks out (`tests/attacks`): a row that does not hold fails there. Tiers are explained in
[explanation/trust.md](explanation/trust.md), promises in [SECURITY](../SECURITY.md).

"Stopped by" names the first check at which an attack fails or turns out to gain nothing: `run` is
any sweep, also without isolation; `submit` and what follows it assume the sandbox. "Not stopped" is
what it says.

| attack | stopped by | how |
|---|---|---|
"""


@dataclass(frozen=True)
class Attack:
    """A row of the table."""

    what: str
    stopped_by: str
    how: str


ATTACKS: dict[str, Attack] = {}


def attack(*, stopped_by: str, how: str) -> Callable[[Any], Any]:
    """Mark a test as one that carries out the attack of its docstring."""
    assert stopped_by in STOPPED_BY

    def mark(test: Any) -> Any:
        what = " ".join(test.__doc__.split())
        ATTACKS[f"{test.__module__}.{test.__name__}"] = Attack(what, stopped_by, how)
        return test

    return mark


def page() -> str:
    """The whole document."""
    for module in MODULES:
        import_module(f"tests.attacks.{module}")
    # Whoever has imported what first, in the order of the modules and within them.
    named = sorted(ATTACKS.items(), key=lambda one: MODULES.index(one[0].split(".")[2]))
    ranked = sorted((a for _, a in named), key=lambda a: STOPPED_BY.index(a.stopped_by))
    return _HEAD + "".join(f"| {a.what} | {a.stopped_by} | {a.how} |\n" for a in ranked)

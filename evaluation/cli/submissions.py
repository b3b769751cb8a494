"""Commands for those who hand in and those who check: ``submit``, ``verify``."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from agents.registry import AgentSpec
from evaluation import protocol as protocols
from evaluation.cli.shared import CommandError, Reporter, say
from evaluation.leaderboard.bundle import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    BundleError,
    decode,
    read_file,
)
from evaluation.leaderboard.edition import EditionError
from evaluation.leaderboard.lines import TIERS
from evaluation.leaderboard.log import LogError
from evaluation.leaderboard.secret import SecretError
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verdicts import CannotCheckError, Verification
from evaluation.leaderboard.verify import verify
from evaluation.protocol import Protocol
from evaluation.report.serve import ServeError
from evaluation.specs import TRACKS, agent_entry

ThroughOption = Annotated[str, typer.Option(help=f"The last tier to try: {', '.join(TIERS)}.")]
CodeOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        help="Code of the agent, to run it: file.py:Class, module:Class or an installed agent's "
        "name.",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Number of processes; one per core if left out.")
]
ProtocolOption = Annotated[str, typer.Option(help="Name of a protocol, or a .toml file.")]


def submit_agent(
    agent: Annotated[
        str,
        typer.Argument(
            help="The agent: a name, file.py:Class or module:Class, then :setting=value,..."
        ),
    ],
    protocol: ProtocolOption = "edition",
    out: Annotated[Path, typer.Option(help="Folder to write the bundle to.")] = Path("submission"),
    name: Annotated[str | None, typer.Option(help="Name of the agent in the leaderboard.")] = None,
    author: Annotated[
        list[str] | None, typer.Option(help="An author; give it several times for several.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="Where to read about the agent: https://...")
    ] = None,
    training_steps: Annotated[
        int, typer.Option(min=0, help="Interactions you trained it with: the track pretrained.")
    ] = 0,
    track: Annotated[
        str | None, typer.Option(help=f"The track of the agent: {', '.join(TRACKS)}.")
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Run your agent through a protocol, in isolation, and write a bundle to hand in.

    Stopped, it goes on where it was when the same command is given again.
    """
    given_track = track or ("pretrained" if training_steps else None)
    entry = agent_entry({"name": agent, "track": given_track})
    spec = AgentSpec(entry.spec.name.rpartition(":")[2], entry.spec.settings)
    entry = replace(entry, label=name or str(spec))
    with sentences(), Reporter(quiet=False) as report:
        try:
            manifest = submit(
                entry,
                Protocol.load(protocol),
                out,
                authors=author or ["anonymous"],
                link=link,
                declared_steps=training_steps,
                workers=workers,
                on_progress=report,
            )
        except KeyboardInterrupt:
            say("Stopped. Give the same command again to go on.")
            raise typer.Exit(130) from None
    say(f"Wrote {len(manifest.runs):,} runs of {manifest.label} into {out}/")
    say(f"Submission {manifest.id}")
    check = f"periodic-gp verify {shlex.quote(str(out))}"
    if protocol not in protocols.names():
        check += f" --protocol {shlex.quote(protocol)}"
    say(f"Check it as others will: {check}")


def verify_bundle(
    bundle: Annotated[Path, typer.Argument(help="Folder of a submission.")],
    protocol: Annotated[
        str | None,
        typer.Option(help="The protocol that it must be of; the one that it names if left out."),
    ] = None,
    through: Annotated[
        str, typer.Option(help=f"The last tier to try: {', '.join(TIERS[:-1])}.")
    ] = "replayed",
    agent: CodeOption = None,
    workers: WorkersOption = None,
) -> None:
    """Check a submission, tier by tier. Up to "replayed" no code of the agent is run.

    Hidden seeds are an edition's: ``leaderboard add`` goes that far.
    """
    check_tier(through)
    with sentences():
        chosen = Protocol.load(protocol or _named_protocol(bundle))
        with Reporter(quiet=False) as report:
            verification = verify(
                bundle,
                chosen,
                through=through,
                agent=agent,
                workers=workers,
                on_progress=report,
            )
    say_verdicts(verification)
    if not verification.passed:
        raise typer.Exit(1)


def check_tier(through: str) -> None:
    """Refuse what is no tier."""
    if through not in TIERS:
        raise CommandError(f"--through must be one of {', '.join(TIERS)}, got {through!r}")


def say_verdicts(verification: Verification) -> None:
    """Print a line for each tier."""
    for verdict in verification.verdicts:
        say(f"  {verdict.tier:<12}{'passed' if verdict.passed else 'REFUSED'}: {verdict.words}")


class _Named(msgspec.Struct):
    """The one thing that is read of a manifest before its protocol is known."""

    protocol: str


def _named_protocol(bundle: Path) -> str:
    """The protocol that a bundle names, if it is one of ours: it is only a name."""
    if not bundle.is_dir():
        raise BundleError(f"there is no folder {str(bundle)!r}")
    try:
        name = decode(read_file(bundle / MANIFEST, MAX_MANIFEST_BYTES), _Named, MANIFEST).protocol
    except ValueError as error:
        raise BundleError(f"{str(bundle)!r} is no submission: {error}") from None
    if name not in protocols.names():
        raise CommandError("it names no protocol of ours; say which: --protocol NAME or file.toml")
    return name


_SAID = (BundleError, CannotCheckError, LogError, EditionError, SecretError, ServeError)


@contextlib.contextmanager
def sentences() -> Iterator[None]:
    """Whatever is wrong with a bundle, a log or a secret is one sentence."""
    try:
        yield
    except _SAID as error:
        raise CommandError(str(error)) from error

"""Editions: open one, add submissions, build the page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from agents.registry import is_built_in
from evaluation.cli.editions import (
    FOLDER,
    EditionOption,
    FolderOption,
    MoreTrialsOption,
    SecretOption,
    WithoutSandboxOption,
    find_edition,
    load_secret,
)
from evaluation.cli.pages import build_page
from evaluation.cli.shared import CommandError, Reporter, say
from evaluation.cli.submissions import (
    CodeOption,
    ProtocolOption,
    ThroughOption,
    WorkersOption,
    check_tier,
    say_verdicts,
    sentences,
)
from evaluation.leaderboard.audit import check_hidden_seeds, rerun_edition
from evaluation.leaderboard.bundle import BundleError
from evaluation.leaderboard.content import EARLIER
from evaluation.leaderboard.edition import SUBMISSIONS, Edition, EditionError, check_new
from evaluation.leaderboard.judge import Judge
from evaluation.leaderboard.secret import Secret, default_path
from evaluation.leaderboard.submit import submit
from evaluation.protocol import Protocol
from evaluation.running.isolation import PROCESS
from evaluation.specs import AgentEntry

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)


@app.command("open")
def open_edition(
    name: Annotated[str, typer.Argument(help="Name of the edition and of its folder.")],
    protocol: ProtocolOption = "edition",
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
) -> None:
    """Open an edition: publish its protocol, the key of its log and the hash of its salt."""
    with sentences():
        check_new(folder, name)
        place = secret or default_path(name)
        if place.resolve().is_relative_to(folder.resolve()):
            raise CommandError(
                f"{str(place)!r} is in the folder that is published: keep the secret elsewhere"
            )
        chosen = Protocol.load(protocol)
        there = place.exists()
        made = Secret.for_opening(place)
        try:
            edition = Edition.open(folder / name, chosen, made)
        except EditionError:
            if not there:
                place.unlink()  # of an edition that never was
            raise
        made.mark_used(place)
    say(f"Opened edition {edition.name} in {edition.folder}, challenge {edition.challenge[:12]}")
    say(f"Its secret is in {place}: keep it to yourself, and keep a copy.")
    if secret is not None:
        say(f"It is asked for by fill, add and close: --secret {place}")


@app.command("add")
def add_submission(
    bundles: Annotated[list[Path], typer.Argument(help="Folders of the submissions.")],
    through: ThroughOption = "replayed",
    agent: CodeOption = None,
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
    workers: WorkersOption = None,
    more_trials: MoreTrialsOption = False,
    without_sandbox: WithoutSandboxOption = False,
) -> None:
    """Verify submissions, write the verdicts into the log, and keep those that pass."""
    for bundle in bundles:
        if not bundle.is_dir():  # a slip of the hand is no verdict
            raise CommandError(f"there is no folder {str(bundle)!r}")
    check_tier(through)
    with sentences():
        opened = find_edition(folder, edition)
        judge = Judge(
            opened,
            load_secret(opened, secret),
            through=through,
            agent=agent,
            more_trials=more_trials,
            without_sandbox=without_sandbox,
            workers=workers,
        )
        accepted = [_judged(judge, opened, bundle, str(bundle)) for bundle in bundles]
        if not all(accepted):
            raise typer.Exit(1)


@app.command("fill")
def fill_edition(
    protocol: Annotated[
        str | None,
        typer.Option(help="The protocol whose agents are handed in; the edition's if left out."),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option(help="An agent to hand in; give it several times; all if left out."),
    ] = None,
    through: ThroughOption = "hidden-seed",
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
    workers: WorkersOption = None,
    without_sandbox: WithoutSandboxOption = False,
) -> None:
    """Hand in the built-in agents, through the same door as everybody else's."""
    check_tier(through)
    with sentences():
        opened = find_edition(folder, edition)
        own = load_secret(opened, secret)
        judge = Judge(
            opened, own, through=through, without_sandbox=without_sandbox, workers=workers
        )
        offered = Protocol.load(protocol or judge.protocol.name)
        there = {
            one.manifest.label: f" ({EARLIER})" if one.is_stale else ""
            for one in opened.accepted()
            if is_built_in(one.manifest.agent)
        }
        accepted = []
        for entry in offered.restricted(agents=agents).agents:
            if entry.label in there:
                say(f"{entry.label}: is in edition {opened.name} already{there[entry.label]}")
            else:
                accepted.append(_hand_in(entry, judge, opened, workers))
        if not all(accepted):
            raise typer.Exit(1)


def _hand_in(entry: AgentEntry, judge: Judge, edition: Edition, workers: int | None) -> bool:
    """Whether a built-in agent is in the edition now."""
    with tempfile.TemporaryDirectory() as place:
        bundle = Path(place) / "submission"
        try:
            with Reporter(quiet=False, title=entry.label) as report:
                submit(
                    entry,
                    judge.protocol,
                    bundle,
                    authors=["The periodic-gp authors"],
                    isolation=PROCESS,  # they are our own; the tiers run them in the sandbox
                    workers=workers,
                    on_progress=report,
                )
        except BundleError as error:
            say(f"{entry.label}: {error}")
            return False
        return _judged(judge, edition, bundle, entry.label)


def _judged(judge: Judge, edition: Edition, bundle: Path, name: str) -> bool:
    """Have a bundle judged, and say what came of it."""
    if (tier := judge.standing_of(bundle)) is not None:
        say(f"{name}: is in edition {edition.name} already, at {tier}")
        return True
    others = [submission.manifest for submission in edition.accepted()]
    try:
        with Reporter(quiet=False, title=Path(name).name) as report:
            verification, kept = judge.judge(bundle, report)
    except KeyboardInterrupt:
        say(
            f"Stopped: there is no verdict on {name}. Give the same command again; a trial on "
            "hidden seeds that had begun is used up, and the log says so."
        )
        raise typer.Exit(130) from None
    manifest = verification.manifest if kept else None
    if manifest and any(o.label == manifest.label and o.id != manifest.id for o in others):
        say(f"Note: the name {manifest.label!r} is taken; this one is shown with a number.")
    say(f"{name}: " + ("accepted" if kept else "refused"))
    say_verdicts(verification)
    return kept


@app.command("close")
def close_edition(
    name: Annotated[str, typer.Argument(help="Name of the edition.")],
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
) -> None:
    """End an edition for good: nothing is added any more, and its salt is published."""
    with sentences():
        edition = find_edition(folder, name)
        edition.accepted()  # nothing that is not intact is closed
        edition.close(load_secret(edition, secret))
    say(f"Closed edition {name}: its salt is in the log, and everybody can run its hidden seeds.")
    place = "" if folder == FOLDER else f" --folder {folder}"
    say(f"Check it as others will: periodic-gp leaderboard check --edition {name}{place} --rerun 3")


@app.command("check")
def check_edition(
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    rerun: Annotated[
        str,
        typer.Option(
            help='Run each built-in agent again on so many of its runs, or on "all": public ones '
            "and, in a closed edition, hidden ones."
        ),
    ] = "0",
    workers: WorkersOption = None,
) -> None:
    """Check the log's signatures, every file that it speaks of and, once closed, hidden seeds."""
    if rerun != "all" and not rerun.isdecimal():
        raise CommandError(f'--rerun must be a whole number or "all", got {rerun!r}')
    with sentences():
        opened = find_edition(folder, edition)
        accepted, strays = opened.accepted(), opened.strays()
        lines, seeds = opened.lines(), check_hidden_seeds(opened)
        say(f"Edition {opened.name}: {len(lines)} entries, {len(accepted)} submissions: intact.")
        say(f"Head of the log: {opened.log.head}")
        if seeds is not None:
            say(f"It is closed: the salt is the promised one, and {seeds} hidden seeds are of it.")
        for one in accepted:
            if one.is_stale:
                say(f"{one.manifest.label}: {EARLIER}")
        if rerun != "0":
            _rerun(opened, None if rerun == "all" else int(rerun), workers)
    if strays:
        raise CommandError(
            f"the log does not know {strays[0]!r} in {opened.folder / SUBMISSIONS}, and it is not "
            "shown: add it (again), or remove the folder"
        )


def _rerun(edition: Edition, count: int | None, workers: int | None) -> None:
    """Run agents again, and say whether they do what the log says."""
    with Reporter(quiet=False) as report:
        found = rerun_edition(edition, count, workers=workers, on_progress=report)
    if found.skipped:
        say(f"Not run again, {EARLIER}: {', '.join(found.skipped)}")
    if found.strangers:
        say(
            f"Not run again, code that is not periodic-gp's: {', '.join(found.strangers)} "
            "(periodic-gp verify FOLDER --through re-run --agent NAME)"
        )
    if found.broken:
        raise CommandError(
            f"{len(found.broken)} of {found.public + found.hidden} runs came to something else: "
            + "; ".join(found.broken[:3])
        )
    say(
        f"Run again: {found.public} public and {found.hidden} hidden runs of the agents of this "
        "package, all as the log says."
    )


app.command("build")(build_page)

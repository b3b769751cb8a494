"""Editions of the leaderboard: open one, add and judge submissions, check it, build its page."""

from __future__ import annotations

import shlex
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from agents.registry import AgentSpec
from evaluation import protocol as protocols
from evaluation.cli.shared import CommandError, check_folder, say
from evaluation.cli.sweeps import SweepOption
from evaluation.leaderboard import judge as judging
from evaluation.leaderboard.bundle import BundleError, read_manifest
from evaluation.leaderboard.edition import LOG, Abandoned, Edition
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verify import TIERS, Verdict, verify
from evaluation.page import write_page
from evaluation.page.edition import edition_content
from evaluation.progress import Reporter
from evaluation.protocol import Protocol
from evaluation.results import load
from evaluation.specs import TRACKS, agent_entry

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)

FOLDER = Path("leaderboard")
FolderOption = Annotated[
    Path, typer.Option("--folder", help="Folder of the leaderboard, which holds its editions.")
]
EditionOption = Annotated[
    str | None, typer.Option("--edition", help="Name of the edition; by default the last one.")
]
CodeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        help="Code of a submitted agent, to run it: file.py:Class, module:Class or the name of an "
        "installed agent. May be repeated.",
    ),
]
IsolationOption = Annotated[
    str, typer.Option(help='Isolation of agents: "sandbox", or "none" for code that you trust.')
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Number of processes; by default one per core.")
]
ProtocolOption = Annotated[str, typer.Option(help="Name of a protocol, or a .toml file.")]


def submit_agent(
    agent: Annotated[
        str,
        typer.Argument(help="A name, file.py:Class or module:Class, then :setting=value,..."),
    ],
    protocol: ProtocolOption = "edition",
    out: Annotated[Path, typer.Option(help="Folder to write the bundle to.")] = Path("submission"),
    name: Annotated[str | None, typer.Option(help="Name of the agent in the leaderboard.")] = None,
    author: Annotated[list[str] | None, typer.Option(help="An author. May be repeated.")] = None,
    link: Annotated[
        str | None, typer.Option(help="Address with more information: https://...")
    ] = None,
    training_steps: Annotated[
        int, typer.Option(min=0, help="Interactions you trained it with: the track pretrained.")
    ] = 0,
    track: Annotated[
        str | None, typer.Option(help=f"Track of the agent: {', '.join(TRACKS)}.")
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Run your agent through a protocol, in a sandbox, and write a bundle to hand in.

    An interrupted command resumes when it is given again.
    """
    chosen_track = track or ("pretrained" if training_steps else None)
    entry = agent_entry({"name": agent, "track": chosen_track})
    spec = AgentSpec(entry.spec.name.rpartition(":")[2], entry.spec.settings)
    with Reporter(quiet=False) as report:
        manifest = submit(
            replace(entry, label=name or str(spec)),
            Protocol.load(protocol),
            out,
            authors=author or ["anonymous"],
            link=link,
            training_steps=training_steps,
            workers=workers,
            on_progress=report,
        )
    say(f"Wrote {len(manifest.runs):,} runs of {manifest.label} into {out}/")
    say(f"Submission {manifest.id}")
    option = "" if protocol in protocols.names() else f" --protocol {shlex.quote(protocol)}"
    say(f"Check it as others will: periodic-gp verify {shlex.quote(str(out))}{option}")


def verify_bundle(
    bundle: Annotated[Path, typer.Argument(help="Folder of a submission.")],
    protocol: Annotated[
        str | None,
        typer.Option(help="Protocol that it must be of; by default the one that it names."),
    ] = None,
    through: Annotated[
        str, typer.Option(help=f"Last tier to try: {', '.join(TIERS[:-1])}.")
    ] = "replayed",
    agent: CodeOption = None,
    isolation: IsolationOption = "sandbox",
    workers: WorkersOption = None,
) -> None:
    """Check a submission, tier by tier. Up to "replayed" no code of the agent is run.

    The tier hidden-seed belongs to an edition: ``leaderboard judge``.
    """
    if through not in TIERS[:-1]:
        raise CommandError(f"--through must be one of {', '.join(TIERS[:-1])}, got {through!r}")
    name = protocol or read_manifest(bundle).protocol
    if protocol is None and name not in protocols.names():
        raise CommandError("it names no protocol of this package: add --protocol file.toml")
    with Reporter(quiet=False) as report:
        found = verify(
            bundle,
            Protocol.load(name),
            through=through,
            agents=agent or [],
            isolation=isolation,
            workers=workers,
            on_progress=report,
        )
    for verdict in found:
        _say(verdict)
    if not found[-1].passed:
        raise typer.Exit(1)


def _say(verdict: Verdict) -> None:
    say(f"  {verdict.tier:<12}{'passed' if verdict.passed else 'REFUSED'}: {verdict.words}")


def find_edition(folder: Path, name: str | None = None) -> Edition:
    """Return the edition of this name, by default the last one."""
    known = sorted(path.parent.name for path in folder.glob(f"*/{LOG}"))
    if not known or (name is not None and name not in known):
        which = "no edition" if name is None else f"no edition {name!r}"
        listed = f"editions: {', '.join(known)}" if known else "name another folder with --folder"
        raise CommandError(f"{which} in {str(folder)!r}; {listed}")
    return Edition(folder / (name or known[-1]))


@app.command("open")
def open_edition(
    name: Annotated[str, typer.Argument(help="Name of the edition and of its folder.")],
    protocol: ProtocolOption = "edition",
    folder: FolderOption = FOLDER,
) -> None:
    """Open an edition with a protocol."""
    edition = Edition.open(folder / name, protocol)
    say(f"Opened edition {name} in {edition.folder}")
    say(f"Head of the log: {edition.head}")


@app.command("add")
def add_submissions(
    bundles: Annotated[list[Path], typer.Argument(help="Folders of the submissions.")],
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
) -> None:
    """Add submissions that pass through the tier replayed. None of their code is run."""
    opened, refused = find_edition(folder, edition), False
    for bundle in bundles:
        try:
            say(f"{bundle}: added {opened.add(bundle).label}")
        except BundleError as error:
            refused = True
            say(f"{bundle}: REFUSED: {error}")
    if refused:
        raise typer.Exit(1)


@app.command("judge")
def judge_batch(
    submissions: Annotated[
        list[str] | None,
        typer.Argument(help="Labels or ids of submissions; by default all without a verdict."),
    ] = None,
    agent: CodeOption = None,
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    isolation: IsolationOption = "sandbox",
    abandon: Annotated[
        str | None, typer.Option(help="Abandon an interrupted batch, for this reason.")
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Judge a batch of submissions on the same new hidden seeds. This runs their code.

    An interrupted batch is judged again, on other seeds, or abandoned: the log shows both.
    """
    opened = find_edition(folder, edition)
    if abandon is not None:
        opened.append(Abandoned(reason=abandon))
        say(f"Abandoned the batch. Head of the log: {opened.head}")
        return
    with Reporter(quiet=False) as report:
        judged = judging.judge(
            opened,
            submissions or [],
            agents=agent or [],
            isolation=isolation,
            workers=workers,
            on_progress=report,
        )
    labels = {entry.id: entry.manifest.label for entry in opened.entries()}
    for name, verdict in judged.verdicts.items():
        say(labels[name])
        _say(verdict)
    say(f"Head of the log: {opened.head}")


@app.command("check")
def check_edition(
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    head: Annotated[
        str | None, typer.Option(help="A published head, which the log must have or continue.")
    ] = None,
    rerun: Annotated[
        int, typer.Option(min=0, help="Run agents of this package again, on so many runs each.")
    ] = 0,
    workers: WorkersOption = None,
) -> None:
    """Recompute an edition: hashes of the log, regrets, hidden seeds and verdicts."""
    opened = find_edition(folder, edition)
    with Reporter(f"Checking edition {opened.name}"):
        entries = judging.check(opened, head=head)
    lines = len(opened.lines)
    say(f"Edition {opened.name}: {lines} lines, {len(entries)} submissions: all agree.")
    if opened.batch:
        say(f"A batch of {len(opened.batch)} is neither judged nor abandoned.")
    say(f"Head of the log: {opened.head}")
    if rerun:
        with Reporter(quiet=False) as report:
            count = judging.rerun(opened, rerun, workers=workers, on_progress=report)
        say(f"Run again: {count} runs of agents whose code is here, all as the edition says.")


@app.command("build")
def build_page(
    out: Annotated[Path, typer.Option(help="File to write the page to.")] = Path(
        "leaderboard.html"
    ),
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    store: Annotated[
        Path | None, typer.Option(help="A store of your own, instead of an edition.")
    ] = None,
    sweep: SweepOption = None,
) -> None:
    """Make a page, and the drawing library beside it: they work offline."""
    check_folder(out)
    with Reporter(f"Building {out}: tables, curves and pictures of worlds"):
        if store is not None:
            load(store, sweep).to_html(out)
        else:
            write_page(out, edition_content(find_edition(folder, edition)))
    say(f"Built {out.resolve()}")
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        say("No browser could be started: open the file yourself.")

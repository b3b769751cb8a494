"""Open editions of the leaderboard, add and judge submissions, check editions and build pages."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from agents.registry import AgentSpec
from evaluation import protocol as protocols
from evaluation.cli.shared import CommandError, check_folder
from evaluation.cli.sweeps import SweepOption
from evaluation.console import Reporter, say
from evaluation.leaderboard import judge as judging
from evaluation.leaderboard.bundle import read_manifest
from evaluation.leaderboard.edition import LOG, Abandoned, Edition
from evaluation.leaderboard.submission import Verdict, submit, verify
from evaluation.page import write_page
from evaluation.page.edition_content import edition_content
from evaluation.protocol import Protocol
from evaluation.results import load
from evaluation.specs import agent_entry

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)

EditionOption = Annotated[
    Path | None,
    typer.Option(help="Folder of the edition; by default the last edition in leaderboard/."),
]
CodeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        help="Code of a submitted agent: file.py:Class, module:Class or the name of an installed "
        "agent. May be repeated.",
    ),
]
IsolationOption = Annotated[
    str, typer.Option(help='Isolation of agents: "sandbox", or "none" for code that you trust.')
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Number of worker processes; by default one per core.")
]
ProtocolOption = Annotated[str, typer.Option(help="Name of a protocol, or a .toml file.")]


def submit_agent(
    agent: Annotated[
        str,
        typer.Argument(
            help="Agent: a name, file.py:Class or module:Class, optionally followed by "
            ":setting=value,..."
        ),
    ],
    protocol: ProtocolOption = "edition",
    out: Annotated[Path, typer.Option(help="Folder to create for the bundle.")] = Path(
        "submission"
    ),
    name: Annotated[str | None, typer.Option(help="Name of the agent on the leaderboard.")] = None,
    author: Annotated[
        list[str] | None, typer.Option(help="Name of an author. May be repeated.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="URL with more information on the agent.")
    ] = None,
    training_steps: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of training steps of the agent; if positive, its track is pretrained.",
        ),
    ] = 0,
    workers: WorkersOption = None,
) -> None:
    """Run your agent through a protocol, in a sandbox if available, and write a bundle to submit.

    If the command is interrupted, run it again to resume it.
    """
    track = "pretrained" if training_steps else None
    entry = agent_entry({"name": agent, "track": track, "training_steps": training_steps})
    short = AgentSpec(entry.spec.name.rpartition(":")[2], entry.spec.settings)
    with Reporter(quiet=False) as report:
        manifest = submit(
            replace(entry, label=name or str(short)),
            Protocol.load(protocol),
            out,
            authors=author or ["anonymous"],
            link=link,
            workers=workers,
            on_progress=report,
        )
    say(f"Wrote {len(manifest.runs):,} runs of {manifest.label} to {out}/")
    say(f"Submission {manifest.id}")
    option = "" if protocol in protocols.names() else f" --protocol {shlex.quote(protocol)}"
    say(f"To verify the bundle: periodic-gp verify {shlex.quote(str(out))}{option}")


def verify_bundle(
    bundle: Annotated[Path, typer.Argument(help="Folder of a submission.")],
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Name of a protocol, or a .toml file; by default the protocol of the bundle."
        ),
    ] = None,
    rerun: Annotated[int, typer.Option(min=0, help="Number of runs to repeat.")] = 0,
    agent: CodeOption = None,
    isolation: IsolationOption = "sandbox",
    workers: WorkersOption = None,
) -> None:
    """Verify a submission, tier by tier. Without --rerun, no code of the agent is run.

    The tier "hidden-seed" requires an edition: see ``leaderboard judge``.
    """
    name = protocol or read_manifest(bundle).protocol
    if protocol is None and name not in protocols.names():
        raise CommandError(
            "unknown-protocol",
            f"the bundle names the unknown protocol {name!r}: pass the protocol's .toml file with "
            "--protocol",
        )
    with Reporter(quiet=False) as report:
        verdicts = verify(
            bundle,
            Protocol.load(name),
            rerun=rerun,
            agents=agent or [],
            isolation=isolation,
            workers=workers,
            on_progress=report,
        )
    for verdict in verdicts:
        _say(verdict)
    if not verdicts[-1].passed:
        raise typer.Exit(1)


def _say(verdict: Verdict) -> None:
    say(f"  {verdict.tier:<12}{'passed' if verdict.passed else 'REFUSED'}: {verdict.words}")


def find_edition(folder: Path | None) -> Edition:
    """Return the edition in a folder, by default the last edition in ``leaderboard/``."""
    known = sorted(path.parent for path in Path("leaderboard").glob(f"*/{LOG}"))
    if folder is None and not known:
        raise CommandError(
            "no-edition", "no edition found in leaderboard/: pass a folder with --edition"
        )
    return Edition(folder or known[-1])


@app.command("open")
def open_edition(
    folder: Annotated[Path, typer.Argument(help="Folder of the edition: leaderboard/NAME.")],
    protocol: ProtocolOption = "edition",
) -> None:
    """Open an edition with a protocol."""
    judging.check_protocol(Protocol.load(protocol))
    edition = Edition.open(folder, protocol)
    say(f"Opened edition {edition.name} in {folder}\nHead of the log: {edition.head}")


@app.command("add")
def add_submission(
    bundle: Annotated[Path, typer.Argument(help="Folder of the submission.")],
    edition: EditionOption = None,
) -> None:
    """Add a submission if it passes the tier "replayed". No code of the agent is run."""
    say(f"{bundle}: added {find_edition(edition).add(bundle).label}")


@app.command("judge")
def judge_batch(
    submissions: Annotated[
        list[str] | None,
        typer.Argument(
            help="Labels or ids of submissions; by default all submissions without a verdict."
        ),
    ] = None,
    agent: CodeOption = None,
    edition: EditionOption = None,
    isolation: IsolationOption = "sandbox",
    abandon: Annotated[
        str | None, typer.Option(help="Abandon the interrupted batch, and record this reason.")
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Judge a batch of submissions on the same new hidden seeds. This runs the submitted code.

    An interrupted batch must be judged again on new seeds, or abandoned. In both cases, the
    interrupted batch remains in the log.
    """
    opened = find_edition(edition)
    if abandon is not None:
        opened.append(Abandoned(reason=abandon))
    else:
        with Reporter(quiet=False) as report:
            judged = judging.judge(
                opened,
                submissions or [],
                agents=agent or [],
                isolation=isolation,
                workers=workers,
                on_progress=report,
            )
        for entry in opened.entries():
            if entry.id in judged.verdicts:
                say(entry.manifest.label)
                _say(entry.verdict)
    say(f"Head of the log: {opened.head}")


@app.command("check")
def check_edition(
    edition: EditionOption = None,
    head: Annotated[
        str | None,
        typer.Option(
            help="Published hash of a line of the log; the check fails if the log does not "
            "contain this hash."
        ),
    ] = None,
    rerun: Annotated[
        int, typer.Option(min=0, help="Number of runs on hidden seeds to repeat for each agent.")
    ] = 0,
    workers: WorkersOption = None,
) -> None:
    """Verify the hashes of the log, the regrets, the hidden seeds and the verdicts."""
    opened = find_edition(edition)
    with Reporter(f"Checking edition {opened.name}"):
        count = len(judging.check(opened, head=head))
    say(f"Verified edition {opened.name}: events {len(opened.lines)}, submissions {count}.")
    if opened.batch:
        say(f"The last batch (size {len(opened.batch)}) is neither judged nor abandoned.")
    say(f"Head of the log: {opened.head}")
    if rerun:
        with Reporter(quiet=False) as report:
            runs = judging.rerun(opened, rerun, workers=workers, on_progress=report)
        say(f"Repeated {runs} runs of agents with unchanged code: all regrets match the edition.")


@app.command("build")
def build_page(
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("leaderboard.html"),
    edition: EditionOption = None,
    store: Annotated[
        Path | None, typer.Option(help="Store with the results to show instead of an edition.")
    ] = None,
    sweep: SweepOption = None,
) -> None:
    """Build a page that works offline, and write the plotting library to the same folder."""
    check_folder(out)
    with Reporter(f"Building {out}: tables, curves and pictures of worlds"):
        if store is not None:
            load(store, sweep).to_html(out)
        else:
            write_page(out, edition_content(find_edition(edition)))
    say(f"Built {out.resolve()}")

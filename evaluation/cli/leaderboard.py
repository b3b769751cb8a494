"""Commands of the leaderboard and its page: ``leaderboard ...``, ``serve``."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from agents.registry import is_built_in
from evaluation.cli.shared import CommandError, Reporter, StoreOption, say
from evaluation.cli.submissions import (
    CodeOption,
    ProtocolOption,
    SecretOption,
    ThroughOption,
    WorkersOption,
    check_tier,
    say_verdicts,
    sentences,
)
from evaluation.cli.sweeps import DEFAULT_STORE, SweepOption, chosen_results
from evaluation.leaderboard.bundle import BundleError
from evaluation.leaderboard.content import edition_content
from evaluation.leaderboard.edition import EDITION, SUBMISSIONS, Edition, EditionError, check_new
from evaluation.leaderboard.secret import Secret, default_path
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.trial import uniform_regrets
from evaluation.leaderboard.verify import verify
from evaluation.protocol.entries import AgentEntry
from evaluation.protocol.protocol import Protocol
from evaluation.report.content import LiveStore, store_content
from evaluation.report.page import render
from evaluation.report.serve import serve
from evaluation.report.sheet import Pictures
from evaluation.running.process import hide_from_others
from evaluation.store import Store
from periodic_envs.files import write_atomically

app = typer.Typer(help="Editions: open one, add submissions, build the page.", no_args_is_help=True)
FOLDER = Path("leaderboard")

FolderOption = Annotated[
    Path, typer.Option("--folder", help="Folder of the leaderboard, which holds its editions.")
]
EditionOption = Annotated[
    str | None, typer.Option("--edition", help="Name of the edition; the last one if left out.")
]


@app.command("open")
def open_edition(
    name: Annotated[str, typer.Argument(help="Name of the edition and of its folder.")],
    protocol: ProtocolOption = "standard",
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
) -> None:
    """Open an edition: publish its protocol, the key of its log and the hash of its salt."""
    with sentences():
        check_new(folder, name)
        place = secret or default_path(name)
        chosen = Protocol.load(protocol)
        made = Secret.create(place)
        try:
            edition = Edition.open(folder / name, chosen, made)
        except BaseException:
            place.unlink()  # of an edition that never was
            raise
    say(f"Opened edition {edition.name} in {edition.folder}, challenge {edition.challenge[:12]}")
    say(f"Its secret is in {place}: keep it to yourself, and keep a copy.")


@app.command("add")
def add_submission(
    bundles: Annotated[list[Path], typer.Argument(help="Folders of the submissions.")],
    through: ThroughOption = "replayed",
    agent: CodeOption = None,
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
    workers: WorkersOption = None,
) -> None:
    """Verify submissions, write the verdicts into the log, and keep those that pass."""
    for bundle in bundles:
        if not bundle.is_dir():  # a slip of the hand is no verdict
            raise CommandError(f"there is no folder {str(bundle)!r}")
    with sentences():
        judge = _Judge(folder, edition, secret, through, agent, workers)
        accepted = [judge(bundle) for bundle in bundles]
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
) -> None:
    """Hand in the built-in agents, through the same door as everybody else's."""
    with sentences():
        judge = _Judge(folder, edition, secret, through, None, workers)
        opened = judge.edition
        offered = Protocol.load(protocol or str(opened.about["protocol"]["name"]))
        manifests = [submission.manifest for submission in opened.accepted()]
        there = {manifest.label for manifest in manifests if is_built_in(manifest.agent)}
        accepted = []
        for entry in offered.restricted(agents=agents).agents:
            if entry.label in there:
                say(f"{entry.label}: is in edition {opened.name} already")
            else:
                accepted.append(_hand_in(entry, judge, workers))
        if not all(accepted):
            raise typer.Exit(1)


def _hand_in(entry: AgentEntry, judge: _Judge, workers: int | None) -> bool:
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
                    workers=workers,
                    on_progress=report,
                )
        except BundleError as error:
            say(f"{entry.label}: {error}")
            return False
        return judge(bundle, entry.label)


@app.command("check")
def check_edition(edition: EditionOption = None, folder: FolderOption = FOLDER) -> None:
    """Check the log's signatures and every file that it speaks of."""
    with sentences():
        opened = _edition(folder, edition)
        accepted, strays = opened.accepted(), opened.strays()
        entries = opened.log.entries()
    say(
        f"Edition {opened.name}: {len(entries)} entries and {len(accepted)} submissions are intact."
    )
    say(f"Head of the log: {opened.log.head}")
    if strays:
        raise CommandError(
            f"the log does not know {strays[0]!r} in {opened.folder / SUBMISSIONS}; it is not shown"
        )


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
    """Make one self-contained page: it works offline, from disk."""
    if not out.parent.is_dir():
        raise CommandError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}")
    with sentences():
        if store is not None:
            with Store(store, create=False) as opened:
                content = store_content(chosen_results(opened, sweep), Pictures())
        else:
            content = edition_content(_edition(folder, edition))
    try:
        write_atomically(out, render(content).encode())
    except OSError as error:
        raise CommandError(f"cannot write {str(out)!r}: {error.strerror}") from error
    say(f"Built {out.resolve()}")
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        say("No browser could be started: open the file yourself.")


def serve_store(
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines read along.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")
    ] = 8765,
) -> None:
    """Show a store in the browser while a sweep fills it; Ctrl-C to end."""
    with Store(store, create=False) as opened:
        chosen_results(opened, sweep)  # say now what is missing
    content = LiveStore(store, lambda opened: chosen_results(opened, sweep))
    with sentences():
        serve(
            content,
            progress=content.progress,
            host=host,
            port=port,
            on_ready=lambda url: say(f"Serving {store} at {url} (Ctrl-C to end)"),
        )


class _Judge:
    """Verifies bundles for an edition and records the verdicts."""

    def __init__(
        self,
        folder: Path,
        edition: str | None,
        secret: Path | None,
        through: str,
        agent: str | None,
        workers: int | None,
    ) -> None:
        check_tier(through)
        self.edition = _edition(folder, edition)
        self._secret = Secret.load(secret or default_path(self.edition.name))
        hide_from_others()
        self.edition.check_secret(self._secret)
        self._through, self._agent, self._workers = through, agent, workers
        self.protocol = self.edition.protocol()
        self._uniform = uniform_regrets(self.protocol)

    def __call__(self, bundle: Path, name: str | None = None) -> bool:
        with Reporter(quiet=False, title=name or bundle.name) as report:
            verification = verify(
                bundle,
                self.protocol,
                through=self._through,
                agent=self._agent,
                salt=self._secret.salt,
                uniform=self._uniform,
                remark=self.edition.remark_on,
                workers=self._workers,
                on_progress=report,
            )
        others = [submission.manifest for submission in self.edition.accepted()]
        kept = self.edition.record(verification, self._secret)
        manifest = verification.manifest if kept else None
        if manifest and any(o.label == manifest.label and o.id != manifest.id for o in others):
            say(f"Note: the name {manifest.label!r} is taken; this one is shown with a number.")
        say(f"{name or bundle}: " + ("accepted" if kept else "refused"))
        say_verdicts(verification)
        return kept


def _edition(folder: Path, name: str | None) -> Edition:
    known = sorted(path.parent.name for path in folder.glob(f"*/{EDITION}"))
    if not known:
        raise EditionError(
            f"there is no edition in {str(folder)!r}; open one: periodic-gp leaderboard open NAME"
        )
    if name is not None and name not in known:
        raise EditionError(
            f"there is no edition {name!r} in {folder}; there are {', '.join(known)}"
        )
    return Edition(folder / (name or known[-1]))

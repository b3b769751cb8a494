"""Commands of the leaderboard and its page: ``leaderboard ...``, ``serve``."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.cli.progress import Reporter
from evaluation.cli.shared import CommandError, StoreOption, say
from evaluation.cli.submissions import (
    CodeOption,
    SecretOption,
    ThroughOption,
    WorkersOption,
    check_tier,
    say_verdicts,
    sentences,
)
from evaluation.cli.sweeps import DEFAULT_STORE, SweepOption, chosen_results
from evaluation.leaderboard.bundle import (
    BundleError,
    Manifest,
)
from evaluation.leaderboard.content import edition_content
from evaluation.leaderboard.edition import EDITION, SUBMISSIONS, Edition, EditionError, check_new
from evaluation.leaderboard.secret import Secret, default_path
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.verify import verify
from evaluation.protocol.protocol import Protocol
from evaluation.report.live import LiveStore, store_content
from evaluation.report.page import render
from evaluation.report.serve import serve
from evaluation.report.worlds import Pictures
from evaluation.running.isolation import hide_from_others
from evaluation.store import Store

app = typer.Typer(help="Editions: open one, add submissions, build the page.", no_args_is_help=True)
FOLDER = Path("leaderboard")

FolderOption = Annotated[Path, typer.Option("--folder", help="The leaderboard.")]
EditionOption = Annotated[
    str | None, typer.Option("--edition", help="Its name; by default the last by name.")
]


@app.command("open")
def open_edition(
    name: Annotated[str, typer.Argument(help="Of the edition, as its folder is called.")],
    protocol: Annotated[str, typer.Option(help="A protocol's name, or a .toml file.")] = "standard",
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
) -> None:
    """Open an edition: publishes its protocol, the key of its log and the hash of its salt."""
    with sentences():
        check_new(folder, name)
        place = secret or default_path(name)
        chosen = Protocol.load(protocol)
        made = Secret.create(place)
        try:
            with Reporter(quiet=False) as report:
                edition = Edition.open(folder / name, chosen, made, on_progress=report)
        except BaseException:
            place.unlink()  # of an edition that never was
            raise
    say(f"Opened edition {edition.name} in {edition.folder}, challenge {edition.challenge[:12]}")
    say(f"Its secret is in {place}: keep it to yourself, and keep a copy.")


@app.command("add")
def add_submission(
    bundles: Annotated[list[Path], typer.Argument(help="Folders of submissions.")],
    through: ThroughOption = "replayed",
    agent: CodeOption = None,
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
    workers: WorkersOption = None,
) -> None:
    """Verify submissions, write the verdicts into the log, and keep those that pass."""
    check_tier(through)
    for bundle in bundles:
        if not bundle.is_dir():  # a slip of the hand is no verdict
            raise CommandError(f"there is no folder {str(bundle)!r}")
    refused = 0
    with sentences():
        opened = _edition(folder, edition)
        key = Secret.load(secret or default_path(opened.name))
        judge = _Judge(opened, key, through, agent, workers)
        for bundle in bundles:
            refused += not judge(bundle)
    if refused:
        raise typer.Exit(1)


@app.command("fill")
def fill_edition(
    protocol: Annotated[
        str | None, typer.Option(help="Whose agents; by default those of the edition's protocol.")
    ] = None,
    agents: Annotated[
        list[str] | None, typer.Option(help="Instead of all; several times for several.")
    ] = None,
    through: ThroughOption = "hidden-seed",
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    secret: SecretOption = None,
    workers: WorkersOption = None,
) -> None:
    """Hand in the built-in agents, through the same door as everybody else's."""
    check_tier(through)
    refused = 0
    with sentences():
        opened = _edition(folder, edition)
        key = Secret.load(secret or default_path(opened.name))
        judge = _Judge(opened, key, through, None, workers)
        offered = Protocol.load(protocol or str(opened.about["protocol"]["name"]))
        there = {
            one.manifest.label for one in opened.accepted() if one.manifest.source_sha256 is None
        }
        for entry in offered.restricted(agents=agents).agents:
            if entry.label in there:
                say(f"{entry.label}: is in edition {opened.name} already")
                continue
            with tempfile.TemporaryDirectory() as place:
                bundle = Path(place) / "submission"
                try:
                    with Reporter(quiet=False, title=entry.label) as report:
                        submit(
                            entry,
                            opened.protocol(),
                            bundle,
                            authors=["The periodic-gp authors"],
                            workers=workers,
                            on_progress=report,
                        )
                except BundleError as error:
                    say(f"{entry.label}: {error}")
                    refused += 1
                    continue
                refused += not judge(bundle, entry.label)
    if refused:
        raise typer.Exit(1)


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
    out: Annotated[Path, typer.Option(help="The page.")] = Path("leaderboard.html"),
    open_page: Annotated[bool, typer.Option("--open", help="Show it in a browser.")] = False,
    edition: EditionOption = None,
    folder: FolderOption = FOLDER,
    store: Annotated[
        Path | None, typer.Option(help="Instead of an edition, a file of results of your own.")
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
    _write_page(out, content)
    say(f"Built {out.resolve()}")
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        say("No browser could be started: open the file yourself.")


def serve_store(
    store: StoreOption = DEFAULT_STORE,
    sweep: SweepOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's: 0.0.0.0.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free one.")] = 8765,
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
        self, edition: Edition, key: Secret, through: str, agent: str | None, workers: int | None
    ) -> None:
        hide_from_others()
        edition.check_secret(key)
        self._edition, self._key, self._through = edition, key, through
        self._agent, self._workers = agent, workers
        self._protocol, self._uniform = edition.protocol(), edition.uniform()

    def __call__(self, bundle: Path, name: str | None = None) -> bool:
        with Reporter(quiet=False, title=name or bundle.name) as report:
            found = verify(
                bundle,
                self._protocol,
                through=self._through,
                agent=self._agent,
                salt=self._key.salt,
                uniform=self._uniform,
                workers=self._workers,
                on_progress=report,
            )
        taken = [] if found.manifest is None else self._taken(found.manifest)
        kept = self._edition.record(found, self._key)
        if kept and taken:
            say(f"Note: the name {taken[0]!r} is taken; this one is shown with a number.")
        say(f"{name or bundle}: " + ("accepted" if kept else "refused"))
        say_verdicts(found)
        return kept

    def _taken(self, manifest: Manifest) -> list[str]:
        others = [one.manifest for one in self._edition.accepted()]
        return [m.label for m in others if m.label == manifest.label and m.id != manifest.id]


def _write_page(out: Path, content: dict[str, Any]) -> None:
    part = out.with_name(f".{out.name}.part")
    try:
        part.write_text(render(content), encoding="utf-8")
        os.replace(part, out)
    except OSError as error:
        raise CommandError(f"cannot write {str(out)!r}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


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

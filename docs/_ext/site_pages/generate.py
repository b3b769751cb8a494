"""Generation of all pages and pictures when the site is built."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from site_pages import agent_pages, api, command_line, environments, kernels
from site_pages.films import film_key, make_film
from site_pages.regrets import of_zoo
from site_pages.repository import ROOT, project_pages

FOLDERS = ("reference/environments", "reference/agents", "reference/cli", "reference/api")
"""Folders below docs in which all files are generated."""


def generate(docs: Path, cache: Path, say: Callable[[str], object] = print) -> None:
    """Write all pages and pictures that are generated from the code.

    Args:
        docs: Folder with the sources of the site.
        cache: Folder of expensive results, which the next build uses again.
        say: Function that receives a line of text about each stage.
    """
    say("generating pages: environments, agents, kernels, commands, API ...")
    pages = all_pages(cache)
    for folder in FOLDERS:
        _remove_others(docs, folder, pages)
    for name, text in pages.items():
        write_if_changed(docs / name, text)
    shutil.copytree(ROOT / "studies" / "data", docs / "results" / "data", dirs_exist_ok=True)
    make_films(environments.environments(), docs / "reference" / "environments", cache, say)


def all_pages(cache: Path) -> dict[str, str]:
    """Return the texts of all generated pages by their paths below docs."""
    zoo = of_zoo()
    worlds = environments.environments()
    agents = agent_pages.agent_entries()
    commands = command_line.commands()
    pages = {"reference/environments/index.md": environments.environments_index(worlds)}
    for world in worlds:
        text = environments.environment_page(world, zoo, cache)
        pages[f"reference/environments/{world.slug}.md"] = text
    pages["reference/agents/index.md"] = agent_pages.agents_index(agents)
    for agent in agents:
        text = agent_pages.agent_page(agent, zoo)
        pages[f"reference/agents/{agent.name}.md"] = text
    pages["reference/cli/index.md"] = command_line.command_index(commands)
    for name, command in commands.items():
        pages[f"reference/cli/{name}.md"] = command_line.command_page(name, command)
    pages |= {f"reference/api/{name}": text for name, text in api.api_pages().items()}
    pages["reference/kernels.md"] = kernels.kernels_page()
    return pages | project_pages()


def write_if_changed(path: Path, text: str) -> None:
    """Write a file only if its content differs, since Sphinx rebuilds newer files."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _remove_others(docs: Path, folder: str, pages: dict[str, str]) -> None:
    """Delete the pages of a folder that are no longer generated."""
    for path in (docs / folder).glob("*.*"):
        if path.suffix in (".md", ".rst") and path.relative_to(docs).as_posix() not in pages:
            path.unlink()


def make_films(
    worlds: list[environments.Environment],
    folder: Path,
    cache: Path,
    say: Callable[[str], object] = print,
) -> None:
    """Make the films that are missing or whose code has changed, on all cores."""
    keys_file = cache / "films.json"
    known = json.loads(keys_file.read_text("utf-8")) if keys_file.is_file() else {}
    wanted = {w.slug: (w, film_key(w.env.setup.world)) for w in worlds if w.env is not None}
    paths = {slug: folder / "pictures" / f"{slug}.webp" for slug in wanted}
    missing = [
        slug
        for slug, (_, key) in wanted.items()
        if known.get(slug) != key or not paths[slug].is_file()
    ]
    if not missing:
        return
    ids = [wanted[slug][0].env_id for slug in missing]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        made = pool.map(make_film, ids, [paths[slug] for slug in missing])
        for done, slug in enumerate(missing):
            next(made)
            say(f"films: {done + 1} of {len(missing)}, {slug}")
    keys = {slug: key for slug, (_, key) in wanted.items()}
    write_if_changed(keys_file, json.dumps(keys, indent=1))

"""Checks of pages: commands exist, Python can be parsed, and targets of links exist."""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_BLOCK = re.compile(
    r"^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)
SHELLS = ("sh", "bash", "shell", "console")
PYTHON = ("python", "{code-cell} python", "{code-cell} ipython3", "{code-cell}")
PROGRAM = "periodic-gp"


def code_blocks(text: str, languages: Iterable[str]) -> Iterator[str]:
    """Yield the code blocks of a page in some languages."""
    wanted = set(languages)
    for block in _BLOCK.finditer(text):
        if block["language"].strip() in wanted:
            yield block["code"]


def shell_blocks(text: str) -> Iterator[str]:
    """Yield the shell code of a page, in its shell blocks and in the cells of a notebook."""
    yield from code_blocks(text, SHELLS)
    for cell in code_blocks(text, PYTHON):
        if re.search(r"^%%(?:bash|sh|script)\b", cell, re.MULTILINE):
            yield "\n".join(line for line in cell.splitlines() if line[:2] != "%%")
        yield "\n".join(re.findall(r"^!(.*)$", cell, re.MULTILINE))


def shell_commands(block: str) -> Iterator[list[str]]:
    """Yield the arguments of every call of ``periodic-gp`` in a block of shell code."""
    for line in block.replace("\\\n", " ").splitlines():
        for part in re.split(r"\s(?:&&|\|\||\||;)\s", line.removeprefix("$ ")):
            words = shlex.split(part, comments=True)
            while words and re.match(r"^\w+=", words[0]):  # assignments of variables
                words = words[1:]
            if words and words[0].rpartition("/")[2] == PROGRAM:
                yield words[1:]


def wrong_commands(block: str, commands: dict[str, Any]) -> Iterator[str]:
    """Yield the errors in the calls of a block of shell code, as sentences."""
    for words in shell_commands(block):
        said = f"{PROGRAM} {shlex.join(words)}"
        if not words or words[0].startswith("-"):
            if any(word not in ("--help", "--version") for word in words):
                yield f"{said}: expected a command, --help or --version first"
            continue
        command, depth = commands.get(words[0]), 1
        while command is not None and getattr(command, "commands", None) and len(words) > depth:
            if words[depth].startswith("-"):
                break
            command, depth = command.commands.get(words[depth]), depth + 1
        if command is None:
            yield f"{said}: unknown command"
            continue
        known = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
        given = {word.partition("=")[0] for word in words[depth:] if re.match(r"^--?[a-z]", word)}
        for option in sorted(given - known - {"--help"}):
            yield f"{said}: unknown option {option} of {words[0]}"


def wrong_python(block: str) -> str:
    """Return the syntax error of a block, or an empty text. Magics of notebooks are ignored."""
    magic = re.search(r"^%%(.*)$", block, re.MULTILINE)
    if magic and not re.fullmatch(r"writefile .*\.py|time|timeit|capture.*", magic[1].strip()):
        return ""  # a cell in another language
    lines = [line for line in block.splitlines() if not re.match(r"^\s*[%!]|^:\w", line)]
    text = "\n".join(lines)
    if text.lstrip().startswith("---"):  # options of a cell
        text = text.lstrip().split("---", 2)[2]
    try:
        ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return ""


class _Links(HTMLParser):
    """Parser that collects the links and the anchors of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the links, pictures, scripts and anchors of a tag."""
        found = {key: value for key, value in attrs if value}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        self.targets |= {found[key] for key in ("href", "src") if key in found}


def dead_links(site: Path) -> list[str]:
    """Return the links within the built site whose targets do not exist, as sentences."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    pages: dict[str, _Links] = {}
    for name in sorted(files):
        if name.endswith(".html"):
            pages[name] = _Links()
            pages[name].feed((site / name).read_text("utf-8"))
    return [
        f"{name} links to {target}"
        for name, links in pages.items()
        for target in sorted(links.targets)
        if not _lives(name, target, files, pages)
    ]


def _lives(page: str, target: str, files: set[str], pages: dict[str, _Links]) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    place = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
    place = place if parts.path else page
    if place not in files:
        place = posixpath.normpath(f"{place}/index.html")
    if place not in files:
        return False
    anchor = unquote(parts.fragment)
    return not anchor or place not in pages or anchor in pages[place].anchors

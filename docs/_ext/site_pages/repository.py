"""Conversion of links to files of the repository into links of the site.

Pages are also read in the repository, so they link to its files by relative paths. On the site,
a link to a file that is also a page leads to this page. A link to another file leads to the
repository's web view if its address is known, and otherwise becomes the name of the file.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = tuple(ROOT / name for name in ("periodic_envs", "agents", "evaluation"))
ADDRESS = "PERIODIC_GP_REPOSITORY"
"""Environment variable with the address of the web view, such as ``https://.../blob/main``."""
COPIED = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    **{
        f"studies/{path.name}": f"results/{path.name}"
        for path in sorted((ROOT / "studies").glob("*.md"))
    },
}
"""Files outside docs that are also pages of the site, on which studies are executed."""
PLACES = {
    **{name: f"docs/{page}" for name, page in COPIED.items()},
    "README.md": "docs/index.md",
    "references.bib": "docs/reference/bibliography.md",
}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?\)")
_PERCENT = re.compile(r"(?<=\d) %")
_FENCE = re.compile(r"^(```+|~~~+|:::+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def hash_of(*folders: Path) -> str:
    """Return a hash of all files in folders, as a key for a cache."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def rewritten(text: str, source: Path, *, page: Path | None = None, root: Path = ROOT) -> str:
    """Return the text of a page with links that work on the site.

    The space before a percent sign becomes non-breaking, so that a narrow table does not separate
    it from its number.

    Args:
        text: Text in Markdown.
        source: File that contains the text; links are relative to this file.
        page: File of the site that receives the text, if it is not ``source``.
        root: Folder of the repository.
    """
    parts, end = [], 0
    for fence in _FENCE.finditer(text):  # code has no links
        parts += [_prose(text[end : fence.start()], source, page or source, root), fence.group()]
        end = fence.end()
    return "".join([*parts, _prose(text[end:], source, page or source, root)])


def _prose(text: str, source: Path, page: Path, root: Path) -> str:
    def replace(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        path = (source.parent / target).resolve()
        if "://" in target or target.startswith("mailto:") or not path.is_relative_to(root):
            return match.group()
        name = path.relative_to(root).as_posix()
        if name in PLACES:
            place = root / PLACES[name]
            # The page that replaces the README on the site has other sections.
            return f"[{match['text']}]({_relative(place, page)}{anchor if name in COPIED else ''})"
        if name.startswith("docs/"):
            # On the site, a link whose text is the name of a file shows the title of the page.
            shown = "" if path.suffix == ".md" and match["text"] == path.name else match["text"]
            return f"[{shown}]({_relative(path, page)}{anchor})"
        return _outside(match["text"], name)

    return _PERCENT.sub("\u00a0%", _LINK.sub(replace, text))


def _outside(text: str, name: str) -> str:
    address = os.environ.get(ADDRESS)
    if address:
        return f"[{text}]({address.rstrip('/')}/{name})"
    return text if "`" in text else f"`{text}`" if text == name else f"{text} (`{name}`)"


def _relative(path: Path, page: Path) -> str:
    return Path(os.path.relpath(path, page.parent)).as_posix()


def source_link(domain: str, info: dict[str, str], root: Path = ROOT) -> str | None:
    """Return the address of the lines that define a name, for ``sphinx.ext.linkcode``."""
    if domain != "py" or not info.get("module"):
        return None
    thing: Any = import_module(info["module"])
    try:
        for part in info["fullname"].split("."):
            thing = getattr(thing, part)
        thing = getattr(thing, "fget", thing)  # the getter of a property
        thing = inspect.unwrap(thing)
        path = Path(inspect.getsourcefile(thing) or "").resolve()
        lines, first = inspect.getsourcelines(thing)
    except (AttributeError, TypeError, OSError):  # without source code
        return None
    if not path.is_relative_to(root):
        return None
    name = path.relative_to(root).as_posix()
    return f"{os.environ[ADDRESS].rstrip('/')}/{name}#L{first}-L{first + len(lines) - 1}"


def project_pages(root: Path = ROOT) -> dict[str, str]:
    """Return the texts of the pages that are files outside docs, by their paths below docs."""
    pages = {}
    for name, page in COPIED.items():
        source = root / name
        text = rewritten(source.read_text("utf-8"), source, page=root / "docs" / page, root=root)
        pages[page] = text
    return pages

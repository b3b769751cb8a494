"""Links of pages to files of the repository that are no pages of the site.

Pages are also read where they lie, in the repository, so they link to its files by relative paths.
On the site such a link leads to the page that was made of the file, to the file in the repository's
own browser where its address is known, and otherwise it is a name.
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
"""The variable with the address of a folder view, such as ``https://.../blob/main``."""
COPIED = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    **{
        f"studies/{path.name}": f"results/{path.name}"
        for path in sorted((ROOT / "studies").glob("*.md"))
    },
}
"""Files beside docs that are pages of the site, too: pages of studies are executed there."""
PLACES = {
    **{name: f"docs/{page}" for name, page in COPIED.items()},
    "README.md": "docs/index.md",
    "references.bib": "docs/reference/bibliography.md",
}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?\)")
_PERCENT = re.compile(r"(?<=\d) %")
_FENCE = re.compile(r"^(```+|~~~+|:::+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def hash_of(*folders: Path) -> str:
    """Return a hash of all files in folders, the key of what is made from them."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def rewritten(text: str, source: Path, *, page: Path | None = None, root: Path = ROOT) -> str:
    """The text of a page with links that lead somewhere on the site.

    A number and its percent sign stay in one line, in narrow headings of tables, too.

    Args:
        text: In Markdown.
        source: The file that it stands in, from which its links are counted.
        page: The file of the site that it becomes, if that is another one.
        root: The folder of the repository.
    """
    parts, end = [], 0
    for fence in _FENCE.finditer(text):  # in code nothing is a link
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
            # Sections of the README are no sections of the page that stands for it.
            return f"[{match['text']}]({_relative(place, page)}{anchor if name in COPIED else ''})"
        if name.startswith("docs/"):
            # A page that is named by its file is named by its title on the site.
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
    """The address of the lines that define a name, for ``sphinx.ext.linkcode``."""
    if domain != "py" or not info.get("module"):
        return None
    thing: Any = import_module(info["module"])
    try:
        for part in info["fullname"].split("."):
            thing = getattr(thing, part)
        thing = getattr(thing, "fget", thing)  # of a property
        thing = inspect.unwrap(thing)
        path = Path(inspect.getsourcefile(thing) or "").resolve()
        lines, first = inspect.getsourcelines(thing)
    except (AttributeError, TypeError, OSError):  # no code of its own
        return None
    if not path.is_relative_to(root):
        return None
    name = path.relative_to(root).as_posix()
    return f"{os.environ[ADDRESS].rstrip('/')}/{name}#L{first}-L{first + len(lines) - 1}"


def project_pages(root: Path = ROOT) -> dict[str, str]:
    """The pages that are files beside docs: their paths below docs, and their texts."""
    pages = {}
    for name, page in COPIED.items():
        source = root / name
        text = rewritten(source.read_text("utf-8"), source, page=root / "docs" / page, root=root)
        pages[page] = text
    return pages

"""The page of findings says what the pages say that it names."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
FIGURE = r"\d+\.\d+|\d+,\d{3}"


def blocks() -> list[str]:
    """The paragraphs, items and rows of the page that have figures."""
    text = (DOCS / "findings.md").read_text()
    found = re.split(r"\n\s*\n|\n(?=- |\d+\. |\|)", text)
    return [block for block in found if re.search(FIGURE, block)]


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block[:40])
def test_figures_are_on_the_page_that_is_named(block: str) -> None:
    """Pages are made anew, and words about them are not: a figure that has changed is seen here."""
    pages = [DOCS / name for name in re.findall(r"\]\(([\w/-]+\.md)\)", block)]
    assert pages, "figures without a page"
    there = "".join(page.read_text() for page in pages)
    assert not [figure for figure in re.findall(FIGURE, block) if figure not in there]


def test_readme_shows_the_published_edition() -> None:
    """Its table and its numbers are those of the edition's page."""
    kept = json.loads((DOCS / "edition.json").read_text(encoding="utf-8"))
    ranked = sorted(kept, key=lambda name: kept[name]["public"]["estimate"])
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d+) \| `([^`]+)`.*? \| ([\d.]+) .*? \| ([\d.]+) ", readme, re.MULTILINE
    )
    assert len(rows) >= 5
    for rank, name, *figures in rows:
        assert ranked[int(rank) - 1] == name
        found = [f"{kept[name][seeds]['estimate']:.2f}" for seeds in ("public", "hidden")]
        assert found == figures, name
    assert f"{len(kept)} agents that learn online" in readme
    assert f"{sum(not row['own'] for row in kept.values())} of them of other libraries" in readme

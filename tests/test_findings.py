"""The page of findings says what the pages say that it names."""

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

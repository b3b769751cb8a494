"""HTML page of results. No module of this package runs an agent."""

from evaluation.page.html import render, write_page

__all__ = ["render", "write_page"]

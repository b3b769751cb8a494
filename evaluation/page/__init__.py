"""The page of results. Nothing here runs an agent."""

from evaluation.page.html import render, write_page

__all__ = ["render", "write_page"]

"""The page of results: numbers in, HTML out. Nothing here runs an agent or a world."""

from evaluation.report.page import render
from evaluation.report.serve import ServeError, serve

__all__ = ["ServeError", "render", "serve"]

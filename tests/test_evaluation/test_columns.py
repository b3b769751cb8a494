"""A column of results is declared once and read by every table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation import columns
from evaluation.cli.tables import overall_table, task_tables
from evaluation.columns import COLUMNS, Column
from evaluation.report import render
from evaluation.report.content import board_content
from evaluation.report.worlds import Pictures
from evaluation.results import Results
from evaluation.summary import overall, table
from tests.test_evaluation.test_sweep import small_results

MEDIAN = Column(
    "median_regret",
    "Median regret",
    "The median over runs of the regret at the end",
    digits=4,
    task=lambda runs, agent: float(runs.regrets[agent].median()),
    overall=lambda tasks, agent: float(tasks.score(agent).mean()),
)

"""Command line of the evaluation harness; ``periodic_decisions.cli`` adds commands to it."""

from evaluation.cli.commands import COMMANDS, Command, main

__all__ = ["COMMANDS", "Command", "main"]

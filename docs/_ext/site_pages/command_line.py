"""Pages of the command line, from the help texts of the commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from site_pages import markdown as md
from site_pages.docstrings import for_myst


def commands() -> dict[str, Any]:
    """Return all commands and groups of commands of ``periodic-gp`` by name."""
    from evaluation.cli.commands import load
    from periodic_decisions.cli import COMMANDS

    return {name: load(command.place, name) for name, command in COMMANDS.items()}


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands that can be called: the command, or the commands of a group."""
    below = getattr(command, "commands", None)
    if not below:
        yield name, command
        return
    for child, one in below.items():
        yield from leaves(f"{name} {child}", one)


def command_page(name: str, command: Any) -> str:
    """Return the page of a command or of a group of commands."""
    found = list(leaves(name, command))
    single = len(found) == 1 and found[0][0] == name
    title = f"# periodic-gp {name}"
    if single:
        return md.page(title, _described(*found[0]))
    group = (command.help or "").strip()
    sections = [md.page(f"## periodic-gp {full}", _described(full, one)) for full, one in found]
    return md.page(title, for_myst(group), *sections)


def _described(full: str, command: Any) -> str:
    text = (command.help or "").replace("\b", "").strip()
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not _hidden(p)]
    asked = [_value(p) if p.required else f"[{_value(p)}]" for p in arguments]
    usage = " ".join([f"periodic-gp {full}", *asked, *(["[OPTIONS]"] if options else [])])
    return md.page(
        for_myst(text),
        md.code(usage, "text"),
        "**Arguments**" if arguments else "",
        md.definitions((_argument(p), _help(p)) for p in arguments),
        "**Options**" if options else "",
        md.definitions((_option(p), _help(p)) for p in options),
    )


def _hidden(option: Any) -> bool:
    return bool(getattr(option, "hidden", False)) or option.name == "help"


def _help(parameter: Any) -> str:
    text = for_myst((getattr(parameter, "help", None) or "").strip())
    return text or "Show this text." if parameter.name == "help" else text


def _value(parameter: Any) -> str:
    """Return the placeholder of a value; that of Typer differs between releases."""
    name = parameter.metavar or parameter.name.upper().replace("_", "-")
    return f"{name}..." if parameter.nargs == -1 else str(name)


def _argument(parameter: Any) -> str:
    return f"`{_value(parameter)}`{_default(parameter)}"


def _option(parameter: Any) -> str:
    names = " / ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    value = "" if parameter.is_flag else f" `{_value(parameter)}`"
    again = ", can be repeated" if parameter.multiple else ""
    return f"{names}{value}{again}{_default(parameter)}"


def _default(parameter: Any) -> str:
    default = parameter.default
    if parameter.required:
        return ", required"
    if default is None or default is False or default in ((), []) or callable(default):
        return ""
    return f" (default `{default}`)"


def command_index(found: dict[str, Any]) -> str:
    """Return the list of all commands."""
    from periodic_decisions.cli import COMMANDS

    rows = []
    for name in COMMANDS:
        command = found[name]
        text = (command.help or "").strip().partition("\n\n")[0]
        below = [f"`{full.removeprefix(name).strip()}`" for full, _ in leaves(name, command)]
        also = f" ({', '.join(below)})" if below != ["``"] else ""
        rows.append((f"[`{name}`]({name}.md)", for_myst(text) + also))
    return md.page(
        "# Command line",
        "Commands of `periodic-gp`. `periodic-gp COMMAND --help` prints the help in a terminal.",
        md.table(("command", "what it does"), rows),
        md.toctree(found, hidden=True),
    )

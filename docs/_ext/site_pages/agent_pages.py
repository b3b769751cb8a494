"""Pages of the agents, from their docstrings, their settings and the results of the zoo."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from site_pages import markdown as md
from site_pages.docstrings import AgentText, agent_text, for_myst, listed, literal
from site_pages.regrets import ranks
from site_pages.settings import described_settings, named_settings

Tables = dict[str, dict[str, float]]
"""Normalised regrets, by world and then by agent."""
UNRANKED = (
    "This agent has no rank, because [the zoo](../../results/zoo.md) excludes generic RL. The page "
    "about [generic RL](../../results/rl.md) reports regret in SyntheticDiscrete, Synthetic and "
    "MadridSim (simulated), for agents that support the actions of these worlds."
)
FAMILIES = {
    "GP, periodic": "Gaussian processes that model the season.",
    "GP, forgetting": "Gaussian processes that forget old rewards.",
    "GP, static": "Gaussian processes that do not model the season.",
    "arms, stationary": "Multi-armed bandits for means that do not change.",
    "arms, forgetting": "Multi-armed bandits that forget old rewards.",
    "arms, change detection": "Multi-armed bandits that test whether the means have changed.",
    "arms, periodic": "Multi-armed bandits for means that repeat.",
    "arms, many": "Multi-armed bandits for more arms than can be tried.",
    "linear, changing": "Linear bandits for rewards that change over time.",
    "linear, periodic": "Linear bandits whose features are sines and cosines of the season.",
    "generic RL": "Reinforcement learning algorithms that are not specific to bandits.",
    "baselines": "Simple rules that every other agent should beat.",
}
"""Descriptions of the families; a family that is missing has no description on its page."""


@dataclass(frozen=True)
class AgentEntry:
    """An agent with the facts of its page.

    Attributes:
        name: Name in the registry.
        family: Family in the registry.
        cls: Class of the agent.
        text: Sections of the docstring.
        pretrained: Phrase that names the settings that put the agent on the track "pretrained";
            empty if no setting does.
    """

    name: str
    family: str
    cls: type
    text: AgentText
    pretrained: str


def agent_entries() -> list[AgentEntry]:
    """Return all agents of the package."""
    from agents.registry import BUILT_IN, find_class

    found = []
    for name, entry in BUILT_IN.items():
        cls: Any = find_class(name)
        by = ", ".join(f"`{setting}`" for setting in entry.pretrained_by)
        why = f"with the setting {by}" if by else ""
        text = agent_text(inspect.getdoc(cls) or "")
        found.append(AgentEntry(name, entry.family, cls, text, why))
    return found


def agent_page(one: AgentEntry, zoo: Tables) -> str:
    """Return the page of one agent.

    Args:
        one: The agent.
        zoo: Normalised regrets of all agents in the worlds of the zoo.
    """
    named = one.text.named
    return md.page(
        f"# {one.name}",
        for_myst(one.text.summary),
        f"Family: {one.family}. {_track(one)} "
        f"Class: `{one.cls.__module__}.{one.cls.__qualname__}`.",
        md.code(f"periodic-gp play PeriodicGP-SyntheticDiscrete-v0 {one.name} --seed 3", "sh")
        if _takes_arms(one.cls)
        else md.code(f"periodic-gp play PeriodicGP-Synthetic-v0 {one.name} --seed 3", "sh"),
        _section(
            "Pseudo-code", md.code(literal(named["Pseudo-code"])) if "Pseudo-code" in named else ""
        ),
        *(prose(block) for block in one.text.prose),
        _section("Reference", listed(named["Reference"]) if "Reference" in named else ""),
        _named(named, "Recommended parameters"),
        _named(named, "Deviations from the paper"),
        _settings(one),
        _training(one),
        _ranks(one, zoo),
    )


def _track(one: AgentEntry) -> str:
    ways = [one.pretrained] if one.pretrained else []
    ways += ["after training"] if _is_trainable(one.cls) else []
    return f"Track: online; pretrained {' or '.join(ways)}." if ways else "Track: online."


def _is_trainable(cls: type) -> bool:
    from agents.base import Trainable

    return isinstance(cls, Trainable)


def _training(one: AgentEntry) -> str:
    """Return the section on training an agent."""
    if not _is_trainable(one.cls):
        return ""
    entry = f'agents = [{{ name = "{one.name}", track = "pretrained", training_steps = 25600 }}]'
    note = (
        "The harness trains this agent in worlds of other seeds if the protocol contains the "
        "following entry ([details](../../howto/protocols.md#tracks-and-training))."
    )
    return _section("Training before the runs", md.page(note, md.code(entry, "toml")))


def _takes_arms(cls: type) -> bool:
    return getattr(cls, "takes", None) != "box"


def _section(heading: str, body: str) -> str:
    return f"## {heading}\n\n{body}" if body.strip() else ""


def _named(named: dict[str, str], heading: str) -> str:
    return _section(heading, listed(named[heading])) if heading in named else ""


def prose(block: str) -> str:
    """Return a paragraph in MyST; an indented block after two colons becomes a code block."""
    if "::\n\n" not in block:
        return for_myst(block)
    text, _, code = block.partition("::\n\n")
    return f"{for_myst(text)}:\n\n{md.code(literal(code))}"


def _settings(one: AgentEntry) -> str:
    says = described_settings(one.cls)
    entries = [
        (f"`{name}` = {md.value(default)}", for_myst(says.get(name, "")))
        for name, default in named_settings(one.cls).items()
    ]
    extra = _algorithm_settings(one)
    if not entries:
        return _section("Settings", "This agent has no settings.")
    first = next(iter(named_settings(one.cls)))
    note = f"Write settings after a colon: `{one.name}:{first}=...`. The list shows the defaults."
    return _section("Settings", md.page(note, md.definitions(entries), extra))


def _algorithm_settings(one: AgentEntry) -> str:
    """Return the arguments of stable-baselines3 for which this package has its own defaults."""
    if not hasattr(one.cls, "algorithm"):
        return ""
    from agents.rl.defaults import EXPLORING, MEMORY_DISCOUNT, ONLINE, TRAINING

    names = {**ONLINE[one.name], **TRAINING[one.name]}
    rows = [
        (
            f"`{name}`",
            *(
                md.value(d[one.name][name]) if name in d[one.name] else ""
                for d in (ONLINE, TRAINING)
            ),
        )
        for name in names
    ]
    rows.append(("`gamma`", *[f"0; {MEMORY_DISCOUNT:g} with `memory`"] * 2))
    if one.name in EXPLORING:
        rows.append(("`ent_coef`", *[md.value(EXPLORING[one.name])] * 2))
    note = (
        f"All other arguments of the algorithm `{one.cls.algorithm}` are settings, too. For some "
        "arguments, this package changes the defaults of stable-baselines3, both for agents that "
        "learn online and for training:"
    )
    return md.page(note, md.table(("argument", "online", "training"), rows))


def _ranks(one: AgentEntry, zoo: Tables) -> str:
    found = ranks(zoo, one.name)
    if not found:
        return _section("Ranks", UNRANKED)
    rows = [
        (_linked(task), f"{rank} of {count}", f"{regret:.2f}")
        for task, rank, count, regret in found
    ]
    note = (
        f"The table ranks the agent by mean regret in the {len(zoo)} worlds of "
        "[the zoo](../../results/zoo.md), with default settings, among all agents of this package "
        "that learn online, except generic RL. Differences between agents of similar rank may be "
        "due to chance; the zoo has intervals. The regret of choosing at random is 1."
    )
    table = md.table(("world", "rank", "regret"), rows, "lrr")
    return _section("Ranks", md.page(note, table, _without({task for task, *_ in found})))


def _without(ranked: set[str]) -> str:
    """Return the worlds without a rank, with the reasons."""
    import periodic_envs

    known = {task.partition(",")[0] for task in ranked}
    others = [env_id for env_id in periodic_envs.ids() if env_id not in known]
    if not others:
        return ""
    return (
        f"The zoo does not contain the worlds {_all_of(others)}, so they are not in the table. "
        "[Findings](../../findings.md) summarises the results on real data."
    )


def _all_of(tasks: Collection[str]) -> str:
    *most, last = (_linked(task) for task in tasks)
    return f"{', '.join(most)} and {last}" if most else last


def _linked(task: str) -> str:
    from site_pages.environments import Environment

    slug = Environment(task.partition(",")[0], object, {}, None).slug
    simulated = ", simulated" if "MadridSim" in task else ""
    return f"[{task}](../environments/{slug}.md){simulated}"


def agents_index(found: list[AgentEntry]) -> str:
    """Return the list of all agents by family."""
    families: dict[str, list[AgentEntry]] = {}
    for one in found:
        families.setdefault(one.family, []).append(one)
    order = [name for name in FAMILIES if name in families]
    order += [name for name in families if name not in FAMILIES]
    parts = []
    for family in order:
        rows = [(f"[{e.name}]({e.name}.md)", for_myst(e.text.summary)) for e in families[family]]
        heading = family[0].upper() + family[1:]
        parts += [
            f"## {heading}",
            FAMILIES.get(family, ""),
            md.table(("agent", "what it does"), rows),
        ]
    return md.page(
        "# Agents",
        "Commands, protocols and `agents.make_agent` refer to an agent by its name. "
        "`periodic-gp agents` prints this list in a terminal.",
        *parts,
        md.toctree((re.sub(r"\.md$", "", one.name) for one in found), hidden=True),
    )

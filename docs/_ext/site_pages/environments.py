"""Pages of the environments, from their docstrings, their registry entries and an instance."""

from __future__ import annotations

import inspect
import re
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from site_pages import markdown as md
from site_pages.docstrings import for_myst
from site_pages.films import AGENT, SEED
from site_pages.regrets import SHOWN, Regrets, regrets_of
from site_pages.settings import arguments

OWN_ARGUMENTS = ("horizon", "noise", "noise_std", "noise_df", "reveal_period", "render_mode")
"""Arguments of every environment, whatever its world."""
INFO = {
    "t": "Time of the decision just made; after `reset`, of the first decision.",
    "phase": "Position of this time within the period.",
    "regret": "Mean reward of the best action minus that of the chosen action.",
    "cumulative_regret": "Sum of the regrets since the start of the episode.",
    "mean_reward": "Mean reward of the chosen action, without noise.",
    "optimal_reward": "Mean reward of the best action, without noise.",
    "optimal_action": "Best action.",
    "data_source": "Source of the rewards: `measurements`, `simulator`, `example`, ...",
    "data_notes": "Changes to the data, such as filled gaps.",
    "warm_start": "Arrays `t`, `action` and `reward` of decisions made before the start.",
}
LENGTH = (
    "An episode has `horizon` steps; `env.spec.max_episode_steps` has this number. "
    "The argument `max_episode_steps` of `gym.make` can only shorten an episode: for a longer "
    "episode, set `horizon`. The time `t` in observations is the number of the step. It is not "
    "scaled; scale it for a neural network ([example](../../howto/from_sb3.md))."
)


@dataclass(frozen=True)
class Environment:
    """An environment with the facts of its page.

    Attributes:
        env_id: Gymnasium id.
        world: Class of the world.
        defaults: Arguments that the id sets.
        env: Instance of the environment, or None if it could not be created.
        missing: Reason why it could not be created; empty if it was.
    """

    env_id: str
    world: type
    defaults: dict[str, Any]
    env: Any
    missing: str = ""

    @property
    def short(self) -> str:
        """The id without the prefix and the version."""
        return re.sub(r"^PeriodicGP-|-v0$", "", self.env_id)

    @property
    def slug(self) -> str:
        """The name of the page."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", self.short).lower()

    @property
    def summary(self) -> str:
        """The first line of the world's docstring."""
        return (inspect.getdoc(self.world) or "").partition("\n")[0]


def environments() -> list[Environment]:
    """Return all registered environments, with an instance of each if it can be created."""
    import gymnasium as gym

    import periodic_envs

    found = []
    for env_id in periodic_envs.ids():
        given = dict(gym.spec(env_id).kwargs)
        module, _, name = given.pop("world").partition(":")
        env, missing = None, ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                env = gym.make(env_id, disable_env_checker=True).unwrapped
        except (ImportError, ValueError) as error:  # a missing optional package or missing data
            missing = str(error)
        found.append(Environment(env_id, getattr(import_module(module), name), given, env, missing))
    return found


def environment_page(one: Environment, zoo: dict[str, dict[str, float]], cache: Path) -> str:
    """Return the page of one environment."""
    text = inspect.getdoc(one.world) or ""
    summary, _, rest = text.partition("\n")
    film = "" if one.env is None else _film(one)
    return md.page(
        f"# {one.env_id}",
        for_myst(summary),
        _left_out(one),
        md.code(
            f'import gymnasium as gym\n\nenv = gym.make("periodic_envs:{one.env_id}")', "python"
        ),
        film,
        _facts(one),
        _sections(rest, one),
        _info(one),
        _regrets(regrets_of(one.env_id, zoo, cache)),
    )


def _left_out(one: Environment) -> str:
    if one.env is None:
        text = f"The environment could not be created when the site was built: {one.missing}"
        return md.directive("admonition", "Incomplete page", for_myst(text))
    origin = one.env.setup.origin
    if origin is None or origin.source != "simulator":
        return ""
    from periodic_envs.worlds.madrid_sim import MadridSim

    if issubclass(one.world, MadridSim):
        text = "All rewards of this world are simulated; it never uses measurements."
    else:
        text = "The measurements were not available when this site was built. "
        text += "The picture and the regrets below are from simulated data."
    return md.directive("admonition", "Simulated", text)


def _film(one: Environment) -> str:
    """Return a figure with the film."""
    caption = f"Episode of `{AGENT}` with seed {SEED}: the mean rewards over time, the choices of "
    caption += 'the agent, and its regret, as drawn by `render_mode="rgb_array"`.'
    options = {"alt": f"Episode of {AGENT} in {one.env_id}", "loading": "lazy", "figclass": "film"}
    return md.directive("figure", f"pictures/{one.slug}.webp", caption, **options)


def _facts(one: Environment) -> str:
    if one.env is None:
        return ""
    env, public = one.env, one.env.public
    periods = ", ".join(f"{period:.6g}" for period in public.periods) or "not revealed"
    rows = [
        ("Action space", f"`{env.action_space}`"),
        ("Observation space", f"`{_space(env.observation_space)}`"),
        ("Observation fields", ", ".join(f"`{name}`" for name in env.observation_fields)),
        ("Period", periods),
        ("Horizon", f"{env.horizon:,} steps"),
        ("Noise", f"`{one.defaults.get('noise', 'gaussian')}`, standard deviation {_noise(env)}"),
        ("Data", "drawn for every seed" if env.setup.origin is None else _origin(env)),
        ("World", f"`{one.world.__module__}.{one.world.__qualname__}`"),
    ]
    return md.table(("", "with its defaults"), rows)


def _space(space: Any) -> str:
    """Return the shape and type of a box, without its bounds, which would fill a page."""
    return f"Box({space.shape}, {space.dtype})"


def _noise(env: Any) -> str:
    return "not revealed" if env.noise_std is None else f"{env.noise_std:g}"


def _origin(env: Any) -> str:
    origin = env.setup.origin
    return f"{origin.source}, fingerprint `{origin.fingerprint[:12]}`"


def _sections(text: str, one: Environment) -> str:
    """Return the sections of the docstring, with a table of arguments in "Arguments"."""
    parts: list[str] = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        parts += [f"## {heading.strip()}", for_myst(body.strip())]
        if heading.strip() == "Arguments":
            parts.append(_arguments(one))
    return md.page(*parts)


def _arguments(one: Environment) -> str:
    from periodic_envs import PeriodicBanditEnv

    own = inspect.signature(one.world).parameters
    of_env = inspect.signature(PeriodicBanditEnv).parameters
    says = arguments(inspect.getdoc(PeriodicBanditEnv) or "")
    own_rows = [
        (f"`{name}`", md.value(one.defaults.get(name, p.default)), _annotation(p))
        for name, p in own.items()
    ]
    env_rows = [
        (
            f"`{name}`",
            md.value(one.defaults.get(name, of_env[name].default)),
            _annotation(of_env[name]),
            for_myst(says.get(name, "")),
        )
        for name in OWN_ARGUMENTS
    ]
    return md.page(
        "Arguments of this world:",
        md.table(("argument", "default", "type"), own_rows) if own_rows else "None.",
        "Arguments of every environment:",
        md.table(("argument", "default", "type", "meaning"), env_rows),
        LENGTH,
    )


def _annotation(parameter: inspect.Parameter) -> str:
    kind = parameter.annotation
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return "" if kind is parameter.empty else f"`{text.replace('|', 'or')}`"


def _info(one: Environment) -> str:
    if one.env is None:
        return ""
    _, first = one.env.reset(seed=SEED)
    one.env.action_space.seed(SEED)
    later = one.env.step(one.env.action_space.sample())[4]
    told = {"reset": list(first), "step": list(later)}
    names = list(dict.fromkeys([*told["step"], *told["reset"]]))
    rows = [
        (
            f"`{name}`",
            ", ".join(f"`{call}`" for call in told if name in told[call]),
            INFO.get(name, ""),
        )
        for name in names
    ]
    note = "`info` is for evaluation: an agent must not read it."
    if "warm_start" in names:
        note += " The exception is `warm_start`, which every agent receives."
    return md.page("## Contents of `info`", note, md.table(("key", "after", "meaning"), rows))


def _regrets(found: Regrets | None) -> str:
    if found is None:
        return ""
    rows = [(f"`{name}`", f"{found.values[name]:.2f}") for name in SHOWN if name in found.values]
    note = (
        f"The table shows the regret after {found.steps:,} steps, relative to the regret of "
        "choosing at random; the oracle has 0. "
        "`best-fixed` is the best single action and `best-per-phase` the best action for each "
        f"phase, both in hindsight. World: `{found.task}`. Source: {found.source}."
    )
    return md.page("## Reference regrets", note, md.table(("", "regret"), rows, "lr"))


def environments_index(found: list[Environment]) -> str:
    """Return the list of all environments."""
    rows = [(f"[{one.env_id}]({one.slug}.md)", for_myst(one.summary)) for one in found]
    return md.page(
        "# Environments",
        "Importing `periodic_envs` registers all environments with Gymnasium. "
        "`periodic-gp envs` prints this list in a terminal.",
        md.table(("id", "what it is"), rows),
        md.toctree((f"{one.short} <{one.slug}>" for one in found), hidden=True),
    )

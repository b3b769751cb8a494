"""What is collected: modules of the extra ``rl`` cannot be imported where it is not installed."""

from importlib.util import find_spec

collect_ignore_glob = (
    [] if find_spec("torch") and find_spec("stable_baselines3") else ["agents/rl/*.py"]
)

"""Behaviour that users rely on, pinned through the public interface alone.

``golden/`` holds recorded figures; ``python -m tests.contract.record`` writes them again. The
checkers of Gymnasium and stable-baselines3 run on every id in ``tests/test_envs``.
"""

"""Whole investigations on top of the harness.

``periodic-gp reproduce`` (``paper``) and ``periodic-gp zoo`` (``zoo``) write a page each. The
others are run as modules, ``python -m studies.NAME --help``:

- ``flagship``: auto-gp-ucb, judged (docs/auto-gp.md);
- ``beyond``: what an unknown period, drift, contexts and several seasons cost (docs/beyond.md);
- ``rl``: what generic RL does, and how many interactions it needs (docs/rl.md);
- ``delay``, ``shift``: what late rewards and seasons that move cost (docs/delay.md, docs/shift.md);
- ``peers``, ``agreement``: other libraries' bandits beside ours, and other people's code of the
  same methods (docs/peers.md, docs/agreement.md);
- ``in_context``: a learner in context, judged (docs/in-context.md);
- ``ope``: how far estimates from logs can be trusted (docs/logs.md);
- ``sensitivity``: how much every agent depends on its settings;
- ``zoo.widths``: how widely agents should explore, for the controls of docs/zoo.md;
- ``madrid.calibrate``, ``madrid.compare``: the simulator's parameters, and how close simulated NO
  is to the real (docs/madrid_simulator.md);
- ``interval_coverage``: how often intervals contain what they should.

All of them have a ``lab`` to run in, ``claims`` with verdicts, a ``comparison`` of agents on common
runs, and write their pages with ``markdown``, ``pictures`` and ``pages``. Every page has a
``stamp`` of the code that it was made with, and ``periodic-gp stale`` says which are ``stale``.
"""

__all__: list[str] = []

"""Bandits of other libraries beside ours, in worlds whose season is known.

    python -m studies.peers [--docs docs] [--store peers.sqlite] [--workers 2]

Runs the protocol ``peers``, or what the store has not got of it, and prints its tables; with
``--docs`` the page DOCS/peers.md is written, too. The agents are those of ``examples/peers``, which
has to be installed; the protocol says how.
"""

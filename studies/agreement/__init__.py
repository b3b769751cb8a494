"""Whether our agents do as other people's code of the same methods does, on the same rewards.

    python -m studies.agreement [--docs docs]

Every comparison runs if the other implementation is installed (``pip install -c constraints.txt -e
"examples/peers[agreement]"`` brings all of them), and is left out with a line that says so if not.
With ``--docs`` the page DOCS/agreement.md is written. It takes two or three minutes.
"""

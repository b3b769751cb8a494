"""auto-gp-ucb on any years of Madrid and any tables: the study of the flagship by another name.

    python benchmarks/auto_gp.py [PART ...] [--years 2019:2021] [--table FILE ... --period 24]

See ``python -m studies.flagship --help`` for all options.
"""

from studies.flagship.__main__ import main

if __name__ == "__main__":
    main()

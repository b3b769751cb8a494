"""Studies: pages whose numbers are computed from recorded runs, and code that the pages share.

Each study has a page ``NAME.md`` and protocols ``NAME.toml`` or ``NAME-PART.toml``. The command
``make study NAME=zoo`` executes the missing runs and writes ``data/NAME.parquet``.
"""

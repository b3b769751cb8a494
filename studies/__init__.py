"""Studies: pages whose figures are computed from recorded runs, and the code that they share.

Each study is a page ``NAME.md`` beside its protocols ``NAME.toml`` and ``NAME-PART.toml``.
``make study NAME=zoo`` runs what is missing and writes ``data/NAME.parquet``.
"""

"""JUDGES: the harness that compares agents. The only package that knows both sides."""

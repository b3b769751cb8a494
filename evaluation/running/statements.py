"""What a file of Python does, without what it says about it."""

from __future__ import annotations

import ast


def statements(source: str) -> str:
    """The text of a file without docstrings, lines of comments and empty lines.

    Two files with the same statements do the same, so that a better docstring does not make a
    result old. Line breaks count: nothing is parsed and written anew, since each version of Python
    would write it in its own way. A text that is a statement of its own does nothing, wherever it
    stands: the descriptions of constants go, too.

    >>> print(statements('def f(x):\\n    \"\"\"Twice.\"\"\"\\n    # why\\n\\n    return 2 * x\\n'))
    def f(x):
        return 2 * x
    """
    lines = source.split("\n")
    kept = [bool(line.strip()) and not line.lstrip().startswith("#") for line in lines]
    nodes = list(ast.walk(ast.parse(source)))
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr):
            for i in range(node.lineno, node.end_lineno or 0):
                kept[i] = True  # within a text, what looks like a comment is none
    for node in nodes:
        if isinstance(node, ast.Expr) and _says_only(node, lines):
            for i in range(node.lineno - 1, node.end_lineno or 0):
                kept[i] = False
    return "\n".join(line for line, keep in zip(lines, kept, strict=True) if keep)


def _says_only(node: ast.Expr, lines: list[str]) -> bool:
    """Whether it is a text and nothing else, and alone on its lines."""
    if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
        return False
    before = lines[node.lineno - 1][: node.col_offset]
    after = lines[(node.end_lineno or 0) - 1].encode()[node.end_col_offset :]
    return not before.strip() and not after.strip()

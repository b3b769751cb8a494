"""Faults change the code, each in its place."""

import ast

from tests.mutation.faults import fault_at, places

SOURCE = '''"""Words 1 + 1."""
def f(x: int = 3, *, flag: bool = True) -> "int | None":
    """Not 2 + 2."""
    if x < 0 and flag:
        raise ValueError(f"{x + 1} is below 0")
    x += 1
    return -x * 2.5
'''


def test_faults_change_what_is_computed_and_no_text() -> None:
    faults = [fault_at(SOURCE, n) for n in range(len(places(ast.parse(SOURCE))))]
    assert sorted((fault.line, fault.was, fault.becomes) for fault in faults) == sorted(
        [
            (2, "3", "4"),
            (2, "True", "False"),
            (4, "if x < 0 and flag:", "if not (x < 0 and flag):"),
            (4, "x < 0 and flag", "x < 0 or flag"),
            (4, "x < 0", "x <= 0"),
            (4, "0", "1"),
            (6, "x += 1", "x -= 1"),
            (6, "1", "2"),
            (7, "-x * 2.5", "-x / 2.5"),
            (7, "-x", "x"),
            (7, "2.5", "3.5"),
        ]
    )


def test_faults_differ_and_compile() -> None:
    whole = {ast.unparse(ast.parse(SOURCE))}
    for n in range(len(places(ast.parse(SOURCE)))):
        text = fault_at(SOURCE, n).source
        compile(text, "faulty", "exec")
        assert text not in whole
        whole.add(text)

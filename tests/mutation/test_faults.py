"""The faults that are put in are faults, each in its place."""

import ast
import sys

import pytest

from tests.mutation.faults import fault_at, places

SOURCE = '''"""Words 1 + 1."""
def f(x: int = 3, *, flag: bool = True) -> "int | None":
    """Not 2 + 2."""
    if x < 0 and flag:
        raise ValueError(f"{x + 1} is below 0")
    x += 1
    return -x * 2.5
'''


def faults() -> list[tuple[int, str, str]]:
    found = (fault_at(SOURCE, n) for n in range(len(places(ast.parse(SOURCE)))))
    return [(fault.line, fault.was, fault.becomes) for fault in found]


def test_what_is_computed_is_made_wrong_and_no_words_are() -> None:
    assert sorted(faults()) == sorted(
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


def test_every_fault_is_another_module_that_can_be_read() -> None:
    whole = {ast.unparse(ast.parse(SOURCE))}
    for n in range(len(places(ast.parse(SOURCE)))):
        text = fault_at(SOURCE, n).source
        compile(text, "faulty", "exec")
        assert text not in whole
        whole.add(text)


@pytest.mark.skipif(sys.platform == "win32", reason="faults are tried in forked processes")
def test_the_quickest_tests_are_chosen() -> None:
    from tests.mutation.running import MAX_TEST_SECONDS, _quickest

    seconds = {"slow": MAX_TEST_SECONDS, "quick": 0.1, "middle": 1.0}
    assert _quickest(set(seconds), seconds) == ["quick", "middle"]
    assert _quickest({"slow"}, {"slow": 2 * MAX_TEST_SECONDS}) == ["slow"]

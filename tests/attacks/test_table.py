"""The table of attacks is made from the tests."""

from .catalogue import ATTACKS, MODULES, NOT_STOPPED, PAGE, page


def test_the_page_is_made_from_these_tests() -> None:
    assert PAGE.read_text() == page(), "write it anew: make attacks"


def test_what_is_not_stopped_is_said() -> None:
    page()
    assert any(attack.stopped_by == NOT_STOPPED for attack in ATTACKS.values())
    assert {name.split(".")[2] for name in ATTACKS} == set(MODULES)

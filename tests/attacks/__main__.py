"""Write docs/attacks.md."""

from tests.attacks.catalogue import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page())

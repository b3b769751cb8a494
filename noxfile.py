#!/usr/bin/env -S uv run --script

# /// script
# dependencies = ["nox>=2025.2.9"]
# ///

"""Nox over make, for other versions of Python: ``nox -s tests-3.13``. Make is the way otherwise."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"

VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Run style, types and the review of the repository."""
    session.run("make", "lint", external=True)


@nox.session
@nox.parametrize("python", VERSIONS)
def tests(session: nox.Session) -> None:
    """Run the everyday tests in an environment of that Python, without torch."""
    session.install("-c", "constraints.txt", "-e", ".[dev]")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(venv_backend="none", default=False)
def versions(session: nox.Session) -> None:
    """Test the lowest and the newest versions of all dependencies."""
    session.run("make", "test-lowest", "test-newest", external=True)


if __name__ == "__main__":
    nox.main()

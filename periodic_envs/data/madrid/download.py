"""``periodic-gp data download``: the only place that uses the network, and only when asked."""

from __future__ import annotations

import hashlib
import http.client
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache
from periodic_envs.data.madrid.importing import Imported, import_paths

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 256 * 2**20
ATTEMPTS = 4
SECONDS_TO_WAIT = 30.0
"""For a server that says nothing."""
_BLOCK = 2**16

OnBytes = Callable[[int, int | None], object]


def addresses() -> dict[int, str]:
    """The zip of each year: the package's table, and the user's own on top of it."""
    table = _years(
        resources.files("periodic_envs.data.madrid").joinpath("sources.toml").read_bytes()
    )
    own = cache.folder() / "sources.toml"
    if own.is_file():
        try:
            table.update(_years(own.read_bytes()))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError, AttributeError) as error:
            raise DataError(
                f"{str(own)!r} is not a table [madrid.years] of addresses: {error}"
            ) from error
    return table


def _years(data: bytes) -> dict[int, str]:
    table = tomllib.loads(data.decode())
    years: Mapping[str, Any] = table.get("madrid", {}).get("years", {})
    return {int(year): str(address) for year, address in years.items()}


def download_year(
    year: int,
    *,
    address: str | None = None,
    on_bytes: OnBytes = lambda done, total: None,
    pause_seconds: float = 1.0,
) -> Imported:
    """Fetch a year's zip, going on where an earlier attempt stopped, and import it.

    Args:
        year: Which.
        address: Instead of the one in the table.
        on_bytes: Called with how many bytes there are by now, and of how many if that is known.
        pause_seconds: Between attempts.
    """
    if address is None:
        table = addresses()
        if year not in table:
            raise DataError(
                f"there is no address for {year}; the table has {min(table)} to {max(table)}. "
                f"Add it to {str(cache.folder() / 'sources.toml')!r} under [madrid.years]"
            )
        address = table[year]
    _check_address(address)
    # Another address is another file: never go on from one with the other.
    source = hashlib.sha256(address.encode()).hexdigest()[:8]
    part = cache.folder() / f"madrid-{year}-{source}.zip.part"
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        _fetch(address, part, on_bytes, pause_seconds)
    except OSError as error:
        raise DataError(f"cannot write {str(part)!r}: {error.strerror or error}") from error
    zipped = part.with_suffix("")
    try:
        part.replace(zipped)
        imported = import_paths([zipped], origin=address, must_have=year)
    except DataError as error:
        # What arrived is complete and yet of no use: going on from it would not help.
        raise DataError(f"what came from {address} cannot be used: {error}") from error
    finally:
        zipped.unlink(missing_ok=True)
    return imported


def _check_address(address: str) -> None:
    if not address.startswith(("https://", "http://")):
        raise DataError(f"the address must start with https:// or http://, got {address!r}")
    try:
        address.encode("ascii")
        _ = urllib.parse.urlsplit(address).port
    except ValueError as error:
        raise DataError(f"{address!r} is not an address: {error}") from error


class _BrokenError(Exception):
    """The connection ended early; what came so far is kept."""


def _fetch(address: str, part: Path, on_bytes: OnBytes, pause_seconds: float) -> None:
    """Fill the file, in several attempts if need be."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause_seconds * 2 ** (attempt - 1))
        try:
            _fetch_rest(address, part, on_bytes)
        except _BrokenError as error:
            problem = error
        else:
            return
    kept = part.stat().st_size if part.exists() else 0
    if not kept:
        part.unlink(missing_ok=True)
        part.with_suffix(".stamp").unlink(missing_ok=True)
        raise DataError(
            f"cannot reach {address} ({problem}); if you have the files, import them with: "
            "periodic-gp data import PATH"
        )
    raise DataError(
        f"the connection to {address} broke {ATTEMPTS} times ({problem}); {kept:,} bytes are kept: "
        "run the same command again to go on"
    )


def _fetch_rest(address: str, part: Path, on_bytes: OnBytes) -> None:
    """One attempt, from where the last one stopped."""
    stamp = part.with_suffix(".stamp")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"User-Agent": "periodic-gp"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        if stamp.exists():
            # Only if the file is still the same one; else the server sends it whole. (Without a
            # stamp, the zip's own check sums tell.)
            request.add_header("If-Range", stamp.read_text())
    try:
        with urllib.request.urlopen(request, timeout=SECONDS_TO_WAIT) as answer:
            _keep(answer, part, stamp, have if answer.status == 206 else 0, address, on_bytes)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # what we have is not the beginning of what there is
            part.unlink(missing_ok=True)
            raise _BrokenError("it does not go on from here") from error
        if error.code in (429, 500, 502, 503, 504):
            raise _BrokenError(f"{error.code} {error.reason}") from error
        raise DataError(f"{address} answered {error.code} {error.reason}{_MOVED}") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as e:
        raise _BrokenError(str(getattr(e, "reason", None) or e) or type(e).__name__) from e
    stamp.unlink(missing_ok=True)


_MOVED = "; if the portal has moved the file, put its address into sources.toml in the data folder"


def _keep(answer: Any, part: Path, stamp: Path, have: int, address: str, on_bytes: OnBytes) -> None:
    """Append the answer to the file."""
    length = answer.headers.get("Content-Length")
    total = have + int(length) if length and length.isdigit() else None
    tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
    block = answer.read(_BLOCK)
    # Before what was kept of an earlier attempt is given up.
    if have == 0 and not block.startswith(b"PK"):
        page = block.lstrip()[:1] == b"<"
        what = "a web page" if page else f"something that starts with {block[:20]!r}"
        raise DataError(f"{address} sent {what} instead of a zip{_MOVED}")
    with part.open("ab" if have else "wb") as file:
        if tag and not tag.startswith("W/"):  # a weak tag does not promise the same bytes
            stamp.write_text(tag)
        on_bytes(have, total)
        while block:
            have += len(block)
            if have > MAX_BYTES:
                limit = MAX_BYTES // 2**20
                raise DataError(f"{address} sends more than {limit} MB: not a year's zip")
            file.write(block)
            on_bytes(have, total)
            block = answer.read(_BLOCK)
    if total is not None and have < total:
        raise _BrokenError(f"after {have:,} of {total:,} bytes")

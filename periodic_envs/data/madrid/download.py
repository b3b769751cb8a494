"""Download of a year from Madrid's portal.

No other module of this package uses the network. Downloads run only on request.
"""

from __future__ import annotations

import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from importlib import resources
from pathlib import Path

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.importing import Imported, import_paths

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 256 * 2**20
TIMEOUT_SECONDS = 30.0
BLOCK = 2**16

OnBytes = Callable[[int, int | None], object]


def addresses() -> dict[int, str]:
    """Return the URL of the zip file for each year."""
    text = resources.files("periodic_envs.data.madrid").joinpath("sources.toml").read_text("utf-8")
    years = tomllib.loads(text)["madrid"]["years"]
    return {int(year): address for year, address in years.items()}


def download_year(
    year: int,
    *,
    address: str | None = None,
    on_bytes: OnBytes = lambda done, total: None,
) -> Imported:
    """Download the zip file of a year and import it.

    Args:
        year: Year to download.
        address: URL of the zip file; None for the URL in ``sources.toml``.
        on_bytes: Callback that receives the number of bytes so far, and the total number of bytes
            or None if it is unknown.

    Raises:
        DataError: If the file cannot be downloaded, or has no measurements of the year.
    """
    if address is None:
        known = addresses()
        if year not in known:
            raise DataError(
                "unknown-year",
                f"no download URL is known for {year}, only for {min(known)} to {max(known)}: pass "
                "the URL of the zip file with --url",
            )
        address = known[year]
    if urllib.parse.urlsplit(address).scheme not in ("http", "https") or not address.isascii():
        raise DataError(
            "invalid-address",
            f"the URL must be ASCII text that starts with https:// or http://, got {address!r}",
        )
    with tempfile.TemporaryDirectory() as folder:
        zipped = Path(folder) / f"madrid-{year}.zip"
        try:
            _fetch(address, zipped, on_bytes)
            return import_paths([zipped], origin=address, must_have=year)
        except DataError as error:
            raise DataError(
                error.code, f"the download from {address} cannot be used: {error}"
            ) from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            raise DataError(
                "cannot-download",
                f"cannot download {address} ({reason}); if you have the files, import them with: "
                "periodic-gp data import PATH",
            ) from error


def _fetch(address: str, file: Path, on_bytes: OnBytes) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "periodic-gp"})
    done = 0
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer, file.open("wb") as out:
        total = answer.length
        while block := answer.read(BLOCK):
            done += len(block)
            if done > MAX_BYTES:
                raise DataError(
                    "file-too-large", f"it is larger than the limit, {MAX_BYTES >> 20} MiB"
                )
            out.write(block)
            on_bytes(done, total)
    if total is not None and done < total:
        raise ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")

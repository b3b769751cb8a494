"""Bundles: a submission on disk, ``manifest.json`` and ``steps.parquet`` in a folder of their own.

Bundles are untrusted. They are read with bounded sizes, nothing in them is run, and nothing in them
chooses a place to read from or to write to.

``steps.parquet`` holds what was chosen, one row per step, in the order of the manifest's runs:
``arm`` is the number of an arm, ``x_0``, ``x_1``, ... are the coordinates of a point of a box, and
columns that a world does not use are null. Nested columns could hide any number of values in a row.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from evaluation.errors import UserError
from evaluation.sandbox import own_python
from evaluation.specs import canonical_json
from periodic_envs.arrays import Array

FORMAT = 3
MANIFEST, STEPS = "manifest.json", "steps.parquet"
MAX_MANIFEST_BYTES = 4 * 2**20
MAX_TABLE_LETTERS = 20_000  # of settings and machine, as JSON
MAX_MEMORY_BYTES = 2**31  # for reading an untrusted table, libraries included
MAX_CPU_SECONDS = 300

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Real = Annotated[float, msgspec.Meta(ge=0.0)]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Actions = list[NDArray[Any]]  # of every run: arms (steps,), or points of a box (steps, dim)


class LeaderboardError(UserError):
    """An error in a submission or an edition that a user can fix."""


class BundleError(LeaderboardError, ValueError):
    """A submission that is refused; the reason is printable, whatever the submission holds."""

    def __init__(self, reason: str) -> None:
        super().__init__("".join(c if c.isprintable() else " " for c in reason[:1000]))


class RunClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of a submission: the regret its author claims, and the agent's time in seconds."""

    env: str
    seed: Whole
    regret: Real
    seconds: Real


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The statements of a submission that neither its protocol nor a replay gives.

    Attributes:
        protocol: Name of the protocol.
        challenge: SHA-256 of its worlds, seeds, horizon and limits (``Protocol.challenge``).
        label: Name of the agent in the leaderboard.
        agent: Name with which the agent was made.
        settings: Its settings.
        track: "online" or "pretrained".
        training_steps: Interactions before the submitted runs, as declared by the author.
        source_sha256: SHA-256 of the agent's code (``submit.code_hash``).
        authors: Names of the authors.
        link: Address with more information, or None.
        machine: Versions and platform.
        created: Time in ISO format.
        steps_sha256: SHA-256 of ``steps.parquet``.
        runs: The runs in the protocol's order.
        format: Version of this format.
    """

    protocol: str
    challenge: Digest
    label: str
    agent: str
    settings: dict[str, Any]
    track: Annotated[str, msgspec.Meta(pattern="^(online|pretrained)$")]
    training_steps: Whole
    source_sha256: Digest
    authors: tuple[str, ...]
    link: str | None
    machine: dict[str, Any]
    created: str
    steps_sha256: Digest
    runs: Annotated[tuple[RunClaim, ...], msgspec.Meta(max_length=100_000)]
    format: int = FORMAT

    def __post_init__(self) -> None:
        """Check what the types of the fields do not express."""
        for name in ("protocol", "agent", "created"):
            _check_text(name, getattr(self, name), 300)
        check_names(self.label, self.authors, self.link)
        tables = json.dumps([self.settings, self.machine], ensure_ascii=False)
        if len(tables) > MAX_TABLE_LETTERS or "\\" in tables or not tables.isprintable():
            raise BundleError(
                f"settings and machine must have at most {MAX_TABLE_LETTERS:,} letters, all of "
                "them printable and without quotes and backslashes"
            )
        if self.training_steps and self.track != "pretrained":
            raise BundleError('training_steps are for the track "pretrained"')

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read untrusted JSON.

        Raises:
            BundleError: If a field is missing, unknown or invalid.
        """
        try:
            table = msgspec.json.decode(data)
            version = table.get("format", FORMAT) if isinstance(table, dict) else FORMAT
            if version != FORMAT:
                raise BundleError(f"format {version!s:.20}, but this version reads {FORMAT}")
            return msgspec.convert(table, cls)
        except (ValueError, RecursionError) as error:
            raise BundleError(f"{MANIFEST}: {str(error)[:300]}") from None

    def to_json(self) -> bytes:
        """Return the canonical bytes, the same for the same content."""
        return (canonical_json(msgspec.to_builtins(self)) + "\n").encode()

    @property
    def id(self) -> str:
        """SHA-256 of the manifest, which holds that of the steps: the submission's name."""
        return hashlib.sha256(self.to_json()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a bundle, in a folder that holds nothing else but the steps."""
    if not folder.is_dir():
        raise BundleError(f"no folder {str(folder)!r}")
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, STEPS))
    if foreign:
        raise BundleError(f"the folder holds other files than a bundle: {foreign[0][:50]!r}")
    return Manifest.from_json(read_file(folder / MANIFEST, MAX_MANIFEST_BYTES))


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a plain file of bounded size: no link, pipe or device."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise BundleError(f"{path.name} is not a plain file")
        with open(os.open(path, flags), "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise BundleError(f"cannot read {path.name}: {error.strerror}") from None
    if len(data) > max_bytes:
        raise BundleError(f"{path.name} is larger than {max_bytes:,} bytes")
    return data


def check_names(label: str, authors: Sequence[str], link: str | None) -> None:
    """Check the texts that an author chooses and the page shows.

    Raises:
        BundleError: If one is empty, too long or not printable, or the link is not a web address.
    """
    if not 1 <= len(authors) <= 20:
        raise BundleError(f"authors must be 1 to 20 names, got {len(authors):,}")
    for name, value in (("label", label), *(("an author", author) for author in authors)):
        _check_text(name, value, 100)
    if link is not None and not re.fullmatch(r"https?://[!-~]{1,490}", link):
        raise BundleError(f"link must begin with http:// or https://, got {link[:80]!r}")


def _check_text(name: str, value: str, max_letters: int) -> None:
    """Require printable text: no controls, invisible letters or surrounding blanks."""
    fillers = any("FILLER" in unicodedata.name(letter, "") for letter in value[:max_letters])
    if (
        not 0 < len(value) <= max_letters
        or not value.isprintable()
        or value != value.strip()
        or fillers
    ):
        raise BundleError(f"{name} must be 1 to {max_letters} printable letters: {value[:80]!r}")


@dataclass(frozen=True)
class RunForm:
    """Shape of a run, the same for every agent.

    Attributes:
        env: Label of the world.
        seed: Seed of the world.
        first_step: Time of the first decision.
        steps: Number of decisions.
        arms: Number of arms, None for a box.
        dim: Coordinates of a point of the box.
    """

    env: str
    seed: int
    first_step: int
    steps: int
    arms: int | None
    dim: int


def write_steps(forms: Sequence[RunForm], actions: Actions) -> bytes:
    """Return the table of the actions of these runs."""
    rows, width = table_shape(forms)
    table = np.full((rows, width), np.nan)
    for form, part, chosen in zip(forms, _parts(table, forms), actions, strict=True):
        part[:, _columns(form)] = np.reshape(chosen, (form.steps, -1))
    columns = [
        pa.array(np.nan_to_num(column), field.type, mask=np.isnan(column), safe=False)
        for column, field in zip(table.T, _schema(width), strict=True)
    ]
    file = io.BytesIO()
    pq.write_table(
        pa.table(columns, _schema(width)), file, compression="zstd", compression_level=19
    )
    return file.getvalue()


def read_steps(data: bytes, forms: Sequence[RunForm], *, trusted: bool = False) -> Actions:
    """Return the actions of every run.

    Args:
        data: The file.
        forms: The expected runs.
        trusted: Whether these very bytes were read as untrusted before.

    Raises:
        BundleError: If the table is not one of these runs, or holds an invalid action.
    """
    rows, width = table_shape(forms)
    table = read_table(data, rows, width) if trusted else _read_in_child(data, rows, width)
    return [_chosen(form, part) for form, part in zip(forms, _parts(table, forms), strict=True)]


def table_shape(forms: Sequence[RunForm]) -> tuple[int, int]:
    """Return the number of rows and of columns: one for arms, one for each coordinate."""
    coordinates = max((form.dim for form in forms if not form.arms), default=0)
    return sum(form.steps for form in forms), 1 + coordinates


def _schema(width: int) -> pa.Schema:
    points = [(f"x_{place}", pa.float64()) for place in range(width - 1)]
    return pa.schema([("arm", pa.int32()), *points])


def _columns(form: RunForm) -> slice:
    return slice(0, 1) if form.arms else slice(1, 1 + form.dim)


def _parts(table: Array, forms: Sequence[RunForm]) -> list[Array]:
    """Return the rows of each run."""
    return np.split(table, np.cumsum([form.steps for form in forms])[:-1])


def _chosen(form: RunForm, rows: Array) -> NDArray[Any]:
    """Return the actions of a run, each of which must be one of the world's."""
    own = rows[:, _columns(form)]
    foreign = np.delete(rows, _columns(form), axis=1)
    low, high = (0, form.arms - 1) if form.arms else (-1, 1)
    valid = ((own >= low) & (own <= high)).all(axis=1) & np.isnan(foreign).all(axis=1)
    if not valid.all():
        t = form.first_step + int(np.argmin(valid))
        allowed = f"an arm from 0 to {high}" if form.arms else f"a point of [-1, 1]^{form.dim}"
        where = f"t = {t} of {form.env}, seed {form.seed}"
        raise BundleError(f"{STEPS}: the action at {where} is not {allowed}")
    return own[:, 0].astype(np.int64) if form.arms else own


def _read_in_child(data: bytes, rows: int, width: int) -> Array:
    """Read an untrusted table in a process with little memory: its header can be wrong.

    The child returns an array that our own code has written.
    """
    code = "from evaluation.leaderboard.bundle import read_stdin; read_stdin()"
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    command = [*own_python(code), str(rows), str(width)]
    child = subprocess.run(command, input=data, capture_output=True, check=False, env=environment)
    if child.returncode == 1:
        raise BundleError(child.stderr.decode(errors="replace").strip()[-400:])
    if child.returncode:  # Arrow aborts where memory ends
        raise BundleError(f"{STEPS} cannot be read within {MAX_MEMORY_BYTES >> 30} GB of memory")
    return np.frombuffer(child.stdout).reshape(rows, width)


def read_stdin() -> None:
    """Read a table from the standard input in a process of its own, and write its numbers."""
    if sys.platform == "linux":  # macOS refuses this limit, Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    try:
        table = read_table(sys.stdin.buffer.read(), *map(int, sys.argv[1:]))
    except BundleError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(table.tobytes())


def read_table(data: bytes, rows: int, width: int) -> Array:
    """Return the numbers of a table of shape (rows, width), NaN where it is null."""
    layout = _schema(width)
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        fits = file.schema_arrow.equals(layout) and file.metadata.num_rows == rows
        columns = file.read().columns if fits else []
        numbers = np.array([column.to_numpy() for column in columns], dtype=np.float64).T
    except Exception as error:  # PyArrow raises nearly any exception for a damaged file
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise BundleError(f"{STEPS} cannot be read: {reason[:200]}") from None
    numeric = numbers.size - sum(column.null_count for column in columns)
    if numbers.shape != (rows, width) or np.isfinite(numbers).sum() != numeric:
        names = ", ".join(f"{field.name} ({field.type})" for field in layout)
        raise BundleError(f"{STEPS} must have {rows:,} rows of finite numbers in {names}")
    return np.ascontiguousarray(numbers)

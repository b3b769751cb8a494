"""Files in the portal's formats, with invented numbers."""

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

HEADER = "PROVINCIA;MUNICIPIO;ESTACION;MAGNITUD;PUNTO_MUESTREO;ANO;MES;DIA;" + ";".join(
    f"H{h:02d};V{h:02d}" for h in range(1, 25)
)


def csv_line(station=4, magnitude=7, date=(2018, 3, 1), values=range(1, 25), flags="V" * 24) -> str:
    year, month, day = date
    point = f"28079{station:03d}_{magnitude}_8"
    key = f"28;079;{station};{magnitude};{point};{year};{month:02d};{day:02d}"
    fields = ";".join(f"{v:05d};{f}" for v, f in zip(values, flags, strict=True))
    return f"{key};{fields}"


def csv(*lines: str) -> bytes:
    return ("\n".join([HEADER, *lines]) + "\n").encode()


def txt_line(station=4, magnitude=7, date=(18, 3, 1), values=range(1, 25), flags="V" * 24) -> str:
    key = f"28079{station:03d}{magnitude:02d}0802{date[0]:02d}{date[1]:02d}{date[2]:02d}"
    return key + "".join(f"{v:05d}{f}" for v, f in zip(values, flags, strict=True))


def txt(*lines: str) -> bytes:
    return ("\r\n".join(lines) + "\r\n").encode()


def zipped(path: Path, members: Iterable[tuple[str, bytes]]) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    path.write_bytes(buffer.getvalue())
    return path

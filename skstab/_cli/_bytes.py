"""The bytes of a file: only regular files, of bounded size, decompressed by what they contain and not by their name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from skstab._report.words import UserError

Kind: TypeAlias = Literal["text", "excel", "parquet", "feather"]

MOST_BYTES = 500_000_000  # after decompression: more than that does not fit into the memory of a small computer
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAMS: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bz2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_TYPED: dict[bytes, Kind] = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
}
# What decompressors and readers of tables raise on damaged files.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


class Content(NamedTuple):
    """What a file holds: its kind, its bytes without compression, and the name of the compression, "" for none."""

    kind: Kind
    data: bytes
    compression: str


def read_bytes(path: str) -> Content:
    """Read a regular file whole, and recognise what it holds."""
    check_regular(path)
    try:
        data = Path(path).read_bytes()
        return _content(path, data)
    except DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise UserError(
            f"{path!r} can't be read: it is damaged or incomplete ({reason})"
        ) from error


def check_regular(path: str) -> None:
    """Refuse addresses, folders, pipes and devices, and files that are too large."""
    if _ADDRESS.match(path):
        raise UserError(
            f"{path!r} is an address, and nothing is fetched from the network: download the file first"
        )
    try:
        status = Path(path).stat()
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path!r}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path!r} can't be read: {error}") from error
    if stat.S_ISDIR(status.st_mode):
        raise UserError(f"{path!r} can't be read: it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise UserError(
            f"{path!r} can't be read: it is not a regular file; write the table to a file first"
        )
    _check_size(status.st_size, path)


def _check_size(size: int, path: str) -> None:
    if size > MOST_BYTES:
        raise UserError(
            f"{path!r} can't be read: it holds more than {MOST_BYTES // 1_000_000} MB"
        )


def _content(path: str, data: bytes) -> Content:
    for magic, kind in _TYPED.items():
        if data.startswith(magic):
            return Content(kind, data, "")
    for magic, (name, opened) in _STREAMS.items():
        if data.startswith(magic):
            return Content("text", _bounded(opened(io.BytesIO(data)), path), name)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        raise UserError(
            f"{path!r} is compressed by zstd, which is not read: decompress it first"
        )
    if data.startswith(_OLD_EXCEL):
        raise UserError(
            f"{path!r} is a workbook of an old Excel: save it as .xlsx or .csv"
        )
    return (
        _zipped(path, data)
        if data.startswith(b"PK\x03\x04")
        else Content("text", data, "")
    )


def _bounded(stream: Any, path: str) -> bytes:
    with stream:
        data: bytes = stream.read(MOST_BYTES + 1)
    _check_size(len(data), path)
    return data


def _zipped(path: str, data: bytes) -> Content:
    """Either a workbook, or one text file in an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [member for member in archive.infolist() if not member.is_dir()]
        _check_size(sum(member.file_size for member in files), path)
        if any(member.filename == "xl/workbook.xml" for member in files):
            return Content("excel", data, "")
        if len(files) != 1:
            raise UserError(
                f"{path!r} must hold one table, but this archive has {len(files)} files"
            )
        return Content("text", _bounded(archive.open(files[0]), path), "zip")

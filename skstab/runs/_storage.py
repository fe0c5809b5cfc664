"""Runs in one file: a zip of NumPy arrays and a header in JSON; nothing in it is ever executed."""

from __future__ import annotations

import json
import os
import secrets
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse

from skstab._checks import naming

__all__ = ["read_fields", "write_fields"]

Made = TypeVar("Made")

FORMAT = "skstab runs"
VERSION = 1
# What NumPy, JSON and zipfile raise for files that are cut off, changed or of another kind.
_DAMAGED = (
    *(
        AttributeError,
        EOFError,
        LookupError,
        TypeError,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ),
    *(
        ArithmeticError,
        MemoryError,
        OSError,
        SyntaxError,
        tokenize.TokenError,
        struct.error,
    ),
    *(zipfile.BadZipFile, zlib.error),
)


def write_fields(path: str | PathLike[str], fields: Mapping[str, Any]) -> None:
    """Write fields to a file, which is replaced only when the new one is complete."""
    arrays: dict[str, Any] = {}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "fields": _described(fields, "", arrays),
    }
    with naming("path"):
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with (
            temporary.open("xb") as file
        ):  # with the permissions that any new file gets, unlike those of tempfile
            np.savez(file, header=np.array(json.dumps(header)), **arrays)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _described(
    fields: Mapping[str, Any], prefix: str, arrays: dict[str, Any]
) -> dict[str, Any]:
    """Describe each field for the header, and put its numbers among the arrays, whose names are numbers.

    Names of scores are text of any kind, which not every name inside a zip can hold.
    """
    return {
        name: _describe(value, f"{prefix}{name}", arrays)
        for name, value in fields.items()
        if value is not None
    }


def _describe(value: Any, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"dict": _described(value, f"{name}/", arrays)}
    if issparse(value):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {
            "csr": _described(parts, f"{name}/", arrays),
            "shape": list(value.shape),
        }
    if isinstance(value, np.ndarray) and value.dtype != object:
        key = f"array_{len(arrays)}"
        arrays[key] = value
        return {"array": key}
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(plain, list) and not all(
        isinstance(item, str | int | float) for item in plain
    ):
        raise TypeError(f"{name} must be text or numbers to be saved")
    return {"value": plain}


def read_fields(
    path: str | PathLike[str], known: Sequence[str], make: Callable[..., Made]
) -> Made:
    """Read the fields that `write_fields` wrote, out of those that are known, and make an object of them."""
    with naming("path"):
        name = os.fspath(path)
    with open(name, "rb") as file:  # a Path of "" would be the current directory
        if not zipfile.is_zipfile(file):
            raise ValueError(f"path {name!r} is not a file of Runs.save")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                header = json.loads(str(arrays["header"]))
                _check_header(header, name, known)
                return make(**_restored(header["fields"], arrays))
        except _NewerFormatError:
            raise
        except _DAMAGED as error:
            raise ValueError(
                f"path {name!r} is not a file of Runs.save, or is damaged: {error}"
            ) from error


class _NewerFormatError(ValueError):
    """A file of a later version of the format."""


def _check_header(header: dict[str, Any], name: str, known: Sequence[str]) -> None:
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}")
    if header["version"] > VERSION:
        raise _NewerFormatError(
            f"{name!r} has version {header['version']} of the format, but this release of skstab reads only up to "
            f"version {VERSION}: read it with a newer release"
        )
    unknown = set(header["fields"]) - set(known)
    if unknown:
        raise ValueError(f"it has unknown fields {sorted(unknown)}")


def _restored(fields: Mapping[str, Any], file: Any) -> dict[str, Any]:
    return {name: _restore(described, file) for name, described in fields.items()}


def _restore(described: Mapping[str, Any], file: Any) -> Any:
    if "dict" in described:
        return _restored(described["dict"], file)
    if "csr" in described:
        parts = _restored(described["csr"], file)
        csr = csr_array(
            (parts["data"], parts["indices"], parts["indptr"]),
            shape=tuple(described["shape"]),
        )
        csr.check_format(full_check=True)
        return csr
    return file[described["array"]] if "array" in described else described["value"]

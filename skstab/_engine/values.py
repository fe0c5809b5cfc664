"""Values as bytes: flat mappings of names to arrays, text, numbers and lists of them.

A value is a digest, a header in JSON and the bytes of the arrays; nothing in it is ever executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np

__all__ = ["DamagedError", "packed", "unpacked"]

_CHECK = 8  # bytes of the digest in front of each value
_LENGTH = 8  # bytes that say how long the header is
_DTYPE = re.compile(r"[<>|][biufcSUmM][1-9]\d{0,8}(\[\d*\w+\])?")
_LARGEST = 2**40  # rows or columns of a table without entries


class DamagedError(ValueError):
    """Bytes that are not a value as it was written."""


def packed(value: Mapping[str, Any]) -> bytes:
    """The bytes of a value."""
    arrays = {
        name: np.ascontiguousarray(item)
        for name, item in value.items()
        if isinstance(item, np.ndarray)
    }
    plain = {name: item for name, item in value.items() if name not in arrays}
    described = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    header = json.dumps({"plain": plain, "arrays": described}).encode()
    length = len(header).to_bytes(_LENGTH, "little")
    content = b"".join([length, header, *(a.tobytes() for a in arrays.values())])
    return _digest_of(content) + content


def unpacked(stored: Any) -> dict[str, Any]:
    """The value of bytes, which may be from anywhere."""
    if not isinstance(stored, bytes) or _digest_of(stored[_CHECK:]) != stored[:_CHECK]:
        raise DamagedError("it is not as it was written")
    try:
        return _read(stored[_CHECK:])
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise DamagedError(f"nothing that skstab writes ({error})") from error


def _read(content: bytes) -> dict[str, Any]:
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    header = json.loads(content[_LENGTH:start])
    value: dict[str, Any] = dict(header["plain"])
    for name, dtype, shape in header["arrays"]:
        array = _array(content, start, dtype, shape)
        value[name], start = array, start + array.nbytes
    if start != len(content) or not all(isinstance(name, str) for name in value):
        raise ValueError("the lengths do not match")
    return value


def _array(content: bytes, start: int, dtype: str, shape: list[int]) -> Any:
    if not _DTYPE.fullmatch(dtype):
        raise ValueError(f"arrays of {dtype!r}")
    if not all(type(n) is int and 0 <= n <= _LARGEST for n in shape):
        raise ValueError(f"an array of shape {shape}")
    # Not more than there are bytes: `frombuffer` sees to it.
    flat = np.frombuffer(content, dtype, prod(shape), start)
    return flat.reshape(shape).copy()


def _digest_of(content: bytes) -> bytes:
    return blake2b(content, digest_size=_CHECK).digest()

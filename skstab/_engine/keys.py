"""Digests of all that a result depends on, by which it is found again in a later process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from hashlib import blake2b, sha256
from importlib import metadata
from pickle import PicklingError
from types import BuiltinFunctionType, FunctionType, NoneType
from typing import Any

import numpy as np
import pandas as pd
from joblib.hashing import NumpyHasher
from scipy.sparse import issparse

from skstab._engine.job import Job

__all__ = ["digest_of", "keys_of", "split_digest", "versions_of"]

# What its text says all of, with the type.
_WRITTEN = (
    str,
    bytes,
    bool,
    int,
    float,
    complex,
    NoneType,
    np.generic,
    date,
    timedelta,
    type(pd.NA),
    type(pd.NaT),
)

_NUMBERS = (np.float64, np.int64, np.bool_, np.str_)


def digest_of(**parts: Any) -> bytes:
    """A digest of named values: of all rows of tables, and of the parameters of estimators.

    Functions and classes count by their names, not by their code.
    """
    digest = blake2b(digest_size=16)
    for name, value in parts.items():
        digest.update(f"{name}:".encode())
        digest.update(
            _table_digest(value, name)
            if _is_table(value)
            else _object_digest(name, value)
        )
    return digest.digest()


def keys_of(job: Job) -> dict[int, bytes]:
    """The key of each run of a job, by its number: data, candidate, split, and seed where it matters.

    Whoever asks for the same run finds it, in whatever job and at whatever place.
    """
    X = digest_of(X=job.X)
    known = [job.plan.identity(one) for one in job.candidates]
    digests = [digest_of(**own) for own in known]  # first, as an error names the part
    versions = [digest_of(versions=versions_of(own)) for own in known]
    candidates = [digests[at] + versions[at] for at in range(len(known))]
    random = [job.plan.is_random(one) for one in job.candidates]
    keys = {}
    targets: dict[int, bytes] = {}  # by identity, since parts may share one
    for place in job.places():
        part = job.parts[place.part]
        if id(part.y) not in targets:
            targets[id(part.y)] = digest_of(y=part.y)
        split = X + targets[id(part.y)] + split_digest(*part.splits[place.split])
        seeded = split + digest_of(seed=part.seed(place.split))
        for number, own, is_random in zip(
            job.numbers(place), candidates, random, strict=True
        ):
            parts = own + (seeded if is_random else split)
            keys[number] = blake2b(parts, digest_size=16).digest()
    return keys


def split_digest(train: Any, test: Any) -> bytes:
    """A digest of a split, by which a later fit knows it again."""
    digest = sha256()  # which processors have instructions for
    for rows in map(np.asarray, (train, test)):
        digest.update(rows.data if rows.flags.c_contiguous else rows.tobytes())
        digest.update(b"|")
    return digest.digest()[:16]


def versions_of(estimator: Any) -> dict[str, str]:
    """The versions of the packages that the results of an estimator depend on, by name.

    These are skstab and what it computes with, and the packages of all classes and
    functions in the estimator, however deep inside. What has no version of its own is left
    out: modules of Python, and those beside a script.
    """
    packages = {"skstab", "sklearn", "numpy", "scipy"}
    _object_digest("estimator", estimator, packages)
    versions = {name: _version_of(name) for name in sorted(packages)}
    return {name: version for name, version in versions.items() if version}


def _version_of(package: str) -> str:
    if package in sys.stdlib_module_names:
        return ""
    stated = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(stated, str):
        return stated
    return " ".join(map(metadata.version, _distributions().get(package, ())))


@cache
def _distributions() -> dict[str, list[str]]:
    found = metadata.packages_distributions()  # which reads the files of all packages
    return {package: sorted(set(names)) for package, names in found.items()}


# -- tables ------------------------------------------------------------------------------------------------------------


def _is_table(value: Any) -> bool:
    return (
        issparse(value)
        or isinstance(value, np.ndarray | pd.DataFrame | pd.Series)
        or hasattr(value, "__array__")
    )


def _table_digest(table: Any, name: str) -> bytes:
    digest = sha256()  # which processors have instructions for
    for array in _arrays_of(table):
        digest.update(
            f"{array.dtype.str if array.dtype.kind in 'biufcmM' else 'objects'}{array.shape}".encode()
        )
        digest.update(_content_of(array, name))
    return digest.digest()


def _content_of(array: Any, name: str) -> Any:
    if array.dtype.kind in "biufcmM":
        return np.ascontiguousarray(array).view(np.uint8).data if array.size else b""
    values = array.ravel().tolist()
    if all(issubclass(kind, _WRITTEN) for kind in set(map(type, values))):
        return repr(values).encode()
    return _object_digest(name, values)


def _arrays_of(table: Any) -> Iterator[Any]:
    """The arrays that make up a table, with the names of its columns where it has any."""
    if issparse(table):
        csr = table.tocsr()
        yield from (csr.indptr, csr.indices, csr.data, np.array(csr.shape))
        return
    if hasattr(table, "columns"):
        yield np.asarray(table.columns, dtype=object)
    if isinstance(table, pd.DataFrame) and not _is_uniform(table):
        for number in range(table.shape[1]):
            yield from _arrays_of(table.iloc[:, number])
    elif isinstance(getattr(table, "dtype", None), pd.CategoricalDtype):
        yield from (
            np.asarray(table.array.codes),
            np.asarray(table.array.categories),
            np.array(table.array.ordered),
        )
    else:
        yield from _arrays_of_values(np.asarray(table))


def _is_uniform(frame: pd.DataFrame) -> bool:
    kinds = set(frame.dtypes)
    return len(kinds) == 1 and all(isinstance(kind, np.dtype) for kind in kinds)


def _arrays_of_values(values: Any) -> Iterator[Any]:
    if values.dtype.names is None:
        yield values
        return
    yield np.array(values.dtype.names, dtype=object)
    for field in values.dtype.names:  # one by one: the bytes between them mean nothing
        yield from _arrays_of_values(values[field])


# -- objects -----------------------------------------------------------------------------------------------------------


def _object_digest(name: str, value: Any, packages: set[str] | None = None) -> bytes:
    try:
        return _hash(value, packages)
    except (AttributeError, PicklingError, TypeError) as error:
        raise ValueError(
            f"checkpoint can't be used with this {name}, by which results are found again: it can't be pickled; define "
            f"its functions and classes in a module, without lambda ({error})"
        ) from error


def _hash(value: Any, packages: set[str] | None = None) -> bytes:
    return str(_Hasher(packages).hash(value)).encode()


class _Hasher(NumpyHasher):
    """joblib's digest, the same in all processes also for sets and for what a script or a notebook defines.

    Parameters
    ----------
    packages : set of str, default=None
        Where the packages of the functions and classes are noted that are met on the way.
    """

    dispatch = NumpyHasher.dispatch.copy()

    def __init__(self, packages: set[str] | None = None) -> None:
        # In a worker, large arrays are in a file.
        super().__init__(hash_name="md5", coerce_mmap=True)
        self.packages = set() if packages is None else packages

    def save(self, obj: Any) -> None:
        """Write plain numbers of NumPy, such as those of a grid, like those of Python."""
        super().save(obj.item() if type(obj) in _NUMBERS else obj)

    def save_global(self, obj: Any, name: str | None = None, **kwargs: Any) -> None:
        """Write a function or class by its name; in a worker, those of a script can't be imported from it."""
        module = getattr(obj, "__module__", None) or ""
        if module != "__main__":
            self.packages.add(module.partition(".")[0])
            super().save_global(obj, name, **kwargs)
            return
        known = name or obj.__qualname__
        if "<" in known or getattr(sys.modules["__main__"], known, obj) is not obj:
            raise PicklingError(f"{obj!r} is not found as __main__.{known}")
        self.write(f"c__main__\n{known}\n".encode())
        self.memoize(obj)

    def save_set(self, items: Any) -> None:
        """Write a set in an order that does not depend on the process."""
        digests = sorted(_hash(item, self.packages) for item in items)
        self.save((type(items), digests))

    dispatch |= dict.fromkeys((FunctionType, BuiltinFunctionType, type), save_global)
    dispatch |= dict.fromkeys((set, frozenset), save_set)

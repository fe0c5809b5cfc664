"""Digests, by which results are found again: the same for the same, in any process, and for nothing else."""

import os
import subprocess
import sys
from functools import wraps
from importlib import import_module, metadata
from pathlib import Path

import iniconfig
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skstab._engine.keys import digest_of, versions_of

ROOT = Path(__file__).parents[1]

# -- tables ------------------------------------------------------------------------------------------------------------


def tables():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    yield X
    yield X.astype(np.float32)
    yield np.arange(20)
    yield np.array(["no", "yes"] * 10)
    yield frame
    yield frame.assign(d=["u", "v"] * 10)
    yield frame.assign(d=pd.Categorical(["u", "v"] * 10))
    yield pd.Series(["no", "yes"] * 10)
    yield csr_array(rng.random((20, 4)) * (rng.random((20, 4)) < 0.5))


def changed(table, at):
    """Change one entry."""
    if isinstance(table, csr_array):
        other = table.copy()
        other.data[at % other.nnz] += 1
        return other
    if isinstance(table, pd.DataFrame):
        other = table.copy()
        other.iloc[at, 0] += 1
        return other
    other = np.array(table)
    other[at] = other[at - 1] if other.dtype.kind in "OU" else other[at] + 1
    return other if isinstance(table, np.ndarray) else pd.Series(other)


@pytest.mark.parametrize(
    "table", list(tables()), ids=lambda table: f"{type(table).__name__}"
)
def test_keys_know_every_row(table):
    key = digest_of(X=table)
    assert digest_of(X=table.copy()) == key
    assert key not in {digest_of(X=changed(table, at)) for at in range(20)}
    assert digest_of(y=table) != key


def test_keys_know_names_forms_and_parameters():
    X = np.arange(6.0).reshape(2, 3)
    frame = pd.DataFrame(X, columns=list("abc"))
    values = (
        X,
        X.T,
        X.ravel(),
        frame,
        frame.rename(columns={"c": "d"}),
        frame.astype({"a": int}),
        Lasso(),
        Lasso(2.0),
        None,
    )
    assert len({digest_of(value=value) for value in values}) == len(values)
    assert digest_of(value=np.asfortranarray(X)) == digest_of(value=X)
    assert digest_of(value=Lasso(2.0)) == digest_of(value=Lasso(alpha=2.0))


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


SURVIVAL = [("event", bool), ("time", float)]
LOOK_ALIKES = {
    "number and text": (objects(1, "a"), objects("1", "a")),
    "missing": (
        objects(None, "a"),
        objects(np.nan, "a"),
        objects(pd.NA, "a"),
        objects(pd.NaT, "a"),
        objects("nan", "a"),
    ),
    "bytes and text": (objects(b"a"), objects("a")),
    "pairs": (objects((1, -1), ()), objects((1, -2), ())),
    "not utf-8": (objects("\udc80"), objects("\udc81")),
    "categories": tuple(
        pd.DataFrame(
            {
                "a": pd.Categorical(["u", "v"], list(categories), ordered=ordered),
                **other,
            }
        )
        for categories in ("uv", "vu", "uvw")
        for ordered in (False, True)
        for other in ({}, {"b": [1, 2]})
    ),
    "not a category": (
        pd.Series(["u", "v"], dtype="category"),
        pd.Series(["u", "v"], dtype=object),
    ),
    "signed zeros": (
        pd.DataFrame({"a": [1], "b": [0.0]}),
        pd.DataFrame({"a": [1], "b": [-0.0]}),
    ),
    "missing integers": tuple(
        pd.DataFrame({"a": pd.array([1, last], "Int64")}) for last in (None, 0, 1)
    ),
    "survival": (
        np.array([(True, -1.0)], SURVIVAL),
        np.array([(True, -2.0)], SURVIVAL),
        np.array([(True, -1.0)], [("died", bool), ("time", float)]),
    ),
}


@pytest.mark.parametrize("tables", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_tables_that_look_alike_have_other_keys(tables):
    assert len({digest_of(X=table) for table in tables}) == len(tables)
    assert all(digest_of(X=table) == digest_of(X=table.copy()) for table in tables)


def test_bytes_between_fields_do_not_count():
    padded = np.dtype(SURVIVAL, align=True)
    keys = set()
    for byte in (0, 255):
        times = np.full(padded.itemsize, byte, dtype=np.uint8).view(padded)
        times["event"], times["time"] = True, 3.0
        keys.add(digest_of(y=times))
    assert len(keys) == 1


# -- objects -----------------------------------------------------------------------------------------------------------


def one():
    return 1


def test_what_has_no_key_is_an_error_that_names_it():
    class Local:
        pass

    @wraps(one)
    def hidden():
        return 2

    for value in (lambda: 1, Local(), hidden):
        with pytest.raises(
            ValueError,
            match=r"checkpoint can't be used with this scoring.*can't be pickled",
        ):
            digest_of(X=np.ones(3), scoring=value)


def test_arrays_in_a_file_count_as_those_in_memory(tmp_path):
    array = np.arange(5.0)
    np.save(tmp_path / "array.npy", array)
    assert digest_of(
        value=[np.load(tmp_path / "array.npy", mmap_mode="r")]
    ) == digest_of(value=[array])


SETS = """
from skstab._engine.keys import digest_of

words = "the quick brown fox jumps over".split()
values = [set(words), frozenset(words), {frozenset(words): 1}, {frozenset(word) for word in words}, {1, "a", None}]
keys = [digest_of(value=value).hex() for value in values]
assert len(set(keys)) == len(keys)
print(keys)
"""


def test_sets_have_one_key_in_all_processes():
    keys = {
        subprocess.run(
            [sys.executable, "-c", SETS],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(keys) == 1


SCRIPT = """
from functools import wraps
from joblib import Parallel, delayed
from sklearn.linear_model import Lasso
from skstab._engine.keys import digest_of

class Mine(Lasso):
    pass

def score():
    return 1

@wraps(score)
def hidden():
    return 2

def key(value):
    return digest_of(value=value).hex()

values = [Mine(), Mine(2.0), score, [Mine, Mine]]
here = [key(value) for value in values]
assert len(set(here)) == len(here)
assert Parallel(n_jobs=2)(delayed(key)(value) for value in values) == here
for value in (hidden, lambda: 1):
    try:
        key(value)
    except ValueError as error:
        print("refused" if "can't be pickled" in str(error) else error)
"""


def test_what_a_script_defines_has_one_key_in_all_its_workers():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["refused", "refused"], done.stderr


# -- versions ----------------------------------------------------------------------------------------------------------

COMMON = {"skstab", "sklearn", "numpy", "scipy"}


@pytest.fixture
def function_of(monkeypatch, tmp_path):
    """A function of a module inside a package, which may state its version."""

    def make(name, version=None):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text(f"__version__ = {version!r}\n")
        (folder / "inside.py").write_text("def transform(X):\n    return X\n")
        monkeypatch.syspath_prepend(tmp_path)
        return import_module(f"{name}.inside").transform

    return make


def test_versions_are_those_that_are_installed():
    versions = versions_of(Lasso())
    assert versions.keys() == COMMON
    assert versions["numpy"] == metadata.version("numpy")
    assert versions["sklearn"] == metadata.version("scikit-learn")


@pytest.mark.parametrize(
    "hidden_in",
    [
        FunctionTransformer,
        lambda function: make_pipeline(FunctionTransformer(function), Lasso()),
        lambda function: FunctionTransformer(kw_args={"a": [{(1, function)}]}),
    ],
    ids=["parameter", "pipeline", "set"],
)
def test_packages_are_found_however_deep_inside(function_of, hidden_in):
    estimator = hidden_in(function_of("theirs", "1.2"))
    assert versions_of(estimator).items() >= {("theirs", "1.2")}
    sys.modules["theirs"].__version__ = "1.3"
    assert versions_of(estimator)["theirs"] == "1.3"
    for name in ("theirs", "theirs.inside"):
        del sys.modules[name]


def test_packages_without_a_stated_version_have_that_of_their_distribution():
    without = FunctionTransformer(iniconfig.IniConfig.get)
    assert versions_of(without)["iniconfig"] == metadata.version("iniconfig")
    assert versions_of(FunctionTransformer(os.path.join)).keys() == COMMON


def test_a_module_beside_a_script_has_no_version(function_of):
    estimator = FunctionTransformer(function_of("beside_a_script"))
    assert versions_of(estimator).keys() == COMMON

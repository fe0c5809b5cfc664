"""Runs in a file: bit for bit, without pickle, and never half written."""

import errno
import io
import json
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from skstab.runs import Runs
from tests.runs.same import assert_same_runs
from tests.runs.test_runs import W, Z, full_runs

FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))


def stored(runs, path):
    runs.save(path)
    return Runs.load(path)


@forms
def test_every_field_comes_back_bit_for_bit(form, tmp_path):
    runs = full_runs(form)
    assert_same_runs(stored(runs, tmp_path / "a.runs"), runs)


@forms
def test_fields_that_are_missing_stay_missing(form, tmp_path):
    runs = Runs(form(Z), why_no_support="Ridge keeps every feature")
    assert_same_runs(stored(runs, tmp_path / "a"), runs)


@pytest.mark.parametrize(
    "names",
    [
        ["ß", "数", "🧬", "a\nb"],
        [1, 2, 30, 2**70],
        [0.5, -1.0, 2.0, 1e300],
        ["a", 1, 2.5, True],
        np.arange(4),
        np.array(["a", "b", "c", "d"]),
    ],
    ids=["unicode", "ints", "floats", "mixed", "numpy ints", "numpy text"],
)
def test_names_of_features_keep_their_kind(names, tmp_path):
    runs = Runs(Z, feature_names=names)
    assert_same_runs(stored(runs, tmp_path / "a"), runs)


def test_names_that_can_not_be_stored_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(
        TypeError, match="feature_names must be text or numbers to be saved"
    ):
        Runs(Z, feature_names=[("a", 1), ("a", 2), ("b", 1), ("b", 2)]).save(
            tmp_path / "a"
        )
    assert not list(tmp_path.iterdir())


def any_text():
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def any_runs(draw):
    m, d = draw(st.integers(0, 4)), draw(st.integers(1, 5))
    form = draw(st.sampled_from(list(FORMS.values())))
    numbers = st.floats(allow_nan=False, allow_infinity=False)

    def optional(strategy):
        return draw(st.none() | strategy)

    tables = [
        optional(hnp.arrays(np.float64, (m, d), elements=numbers)) for _ in range(2)
    ]
    vector = hnp.arrays(np.float64, (m,), elements=st.floats())
    return Runs(
        form(draw(hnp.arrays(bool, (m, d)))),
        tables[0],
        coefs=tables[1],
        feature_names=draw(
            st.lists(any_text() | st.integers(), min_size=d, max_size=d)
        ),
        scores=draw(st.dictionaries(any_text(), vector, max_size=3)),
        row_losses=draw(
            st.dictionaries(
                any_text(),
                hnp.arrays(np.float64, (m, 2), elements=st.floats()),
                max_size=2,
            )
        ),
        row_predictions=optional(hnp.arrays(np.float64, (m, 2), elements=st.floats())),
        row_probabilities=optional(
            hnp.arrays(np.float32, (m, 2, 3), elements=st.floats(0, 1, width=32))
        ),
        row_counts=optional(
            hnp.arrays(np.int64, (m, 2), elements=st.integers(0, 1000))
        ),
        train_sizes=optional(vector),
        fit_times=optional(vector),
        split_numbers=optional(hnp.arrays(np.int64, (m,))),
        pairs=optional(hnp.arrays(np.int64, (m,))),
        refit=optional(hnp.arrays(bool, (d,))),
        refit_predictions=optional(hnp.arrays(np.float64, (2,))),
        n_failed=draw(st.integers(0, 3)),
        why_no_support=optional(any_text()),
        estimator_name=optional(any_text()),
    )


@settings(max_examples=80, deadline=None)
@given(runs=any_runs())
def test_any_runs_come_back_bit_for_bit(runs, tmp_path_factory):
    assert_same_runs(stored(runs, tmp_path_factory.mktemp("runs") / "a.runs"), runs)


def test_a_path_may_be_text_and_has_no_suffix_added(tmp_path):
    Runs(Z).save(str(tmp_path / "runs"))
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert len(Runs.load(str(tmp_path / "runs"))) == 4


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_others_may_read_the_file_as_they_may_any_new_one(tmp_path):
    Runs(Z).save(tmp_path / "a")
    (tmp_path / "b").touch()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "b").stat().st_mode
    )


def test_nothing_in_the_file_is_pickled(tmp_path):
    full_runs().save(tmp_path / "a")
    with np.load(tmp_path / "a", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


# -- files that are something else -------------------------------------------------------------------------------------


def rewrite(path, change):
    """Change the header of a stored file."""
    Runs(Z, W).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"]))
    arrays["header"] = np.array(json.dumps(change(header)))
    with path.open("wb") as file:
        np.savez(file, **arrays)


def test_a_newer_version_is_named(tmp_path):
    path = tmp_path / "a.runs"
    rewrite(
        path, lambda header: header | {"version": 7, "fields": {"new": {"dict": {}}}}
    )
    with pytest.raises(
        ValueError,
        match=r"a\.runs' has version 7 of the format, but this release.*up to version 1",
    ):
        Runs.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header | {"format": "other"},
        lambda header: header | {"version": "1"},
        lambda header: (
            header | {"fields": {**header["fields"], "colour": {"value": 3}}}
        ),
        lambda header: header | {"fields": []},
        lambda header: header | {"fields": {"n_failed": {"value": 0}}},
        lambda header: (
            header | {"fields": {**header["fields"], "scores": {"value": 5}}}
        ),
        lambda header: (
            header | {"fields": {**header["fields"], "n_failed": {"value": True}}}
        ),
        lambda header: header | {"fields": {"supports": {"array": "missing"}}},
        lambda header: header | {"fields": {"supports": {}}},
        lambda header: header | {"fields": {"supports": 3}},
        lambda _: {},
        lambda header: [header],
        lambda _: None,
    ],
    ids=[
        "format",
        "version",
        "field",
        "list",
        "no supports",
        "scores",
        "bool",
        "no array",
        "empty",
        "number",
        "no header",
        "header list",
        "null",
    ],
)
def test_headers_of_another_kind_are_refused(change, tmp_path):
    path = tmp_path / "a.runs"
    rewrite(path, change)
    with pytest.raises(
        ValueError, match=r"a\.runs' is not a file of Runs\.save, or is damaged"
    ):
        Runs.load(path)


@pytest.mark.parametrize(
    ("name", "value"), [("indices", 99), ("indices", -1), ("indptr", 99)]
)
def test_sparse_tables_that_point_outside_are_refused(name, value, tmp_path):
    path = tmp_path / "a.runs"
    Runs(sparse.csr_array(Z)).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"]))
    arrays[header["fields"]["supports"]["csr"][name]["array"]][2] = value
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="is damaged"):
        Runs.load(path)


def other_zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("hello.txt", "hello")
    return buffer.getvalue()


def saved(save, *arrays, **named):
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


OTHERS = {
    "nothing": b"",
    "text": b"run,feature\n0,a\n",
    "random": bytes(range(256)) * 8,
    "pickle": pickle.dumps({"supports": Z}),
    "zip": other_zip(),
    "npy": saved(np.save, Z),
    "npz": saved(np.savez, supports=Z),
    "npz with a header": saved(np.savez, header=np.array("no JSON")),
    "npz of objects": saved(
        np.savez, header=np.array([{"format": "skstab runs"}], dtype=object)
    ),
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=list(OTHERS))
def test_other_files_are_refused_by_name(content, tmp_path):
    path = tmp_path / "other.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.bin' is not a file of Runs\.save"):
        Runs.load(path)


def test_files_that_are_cut_off_or_changed_are_refused(tmp_path):
    path = tmp_path / "a.runs"
    full_runs(sparse.csr_array).save(path)
    content = path.read_bytes()
    for end in range(0, len(content) - 1, len(content) // 40):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"is not a file of Runs\.save"):
            Runs.load(path)
    # A byte of the data of an array: the check sum of the zip no longer fits.
    place = content.index(b"\x93NUMPY") + 200
    path.write_bytes(
        content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
    )
    with pytest.raises(ValueError, match="is damaged"):
        Runs.load(path)


def test_whatever_bytes_are_changed_a_file_is_read_or_refused_by_name(tmp_path):
    path, rng = tmp_path / "a.runs", np.random.default_rng(0)
    full_runs(sparse.csr_array).save(path)
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    refused = []
    for _ in range(600):
        changed = content.copy()
        changed[rng.integers(len(content), size=3)] = rng.integers(256, size=3)
        path.write_bytes(changed.tobytes())
        try:
            Runs.load(path)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all("a.runs' is not a file of Runs.save" in message for message in refused)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Runs.load(tmp_path / "nowhere.runs")
    with pytest.raises(FileNotFoundError):
        Runs(Z).save(tmp_path / "no folder" / "a.runs")


# -- writing that fails ------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.runs"
    old = Runs(Z)
    old.save(path)

    def half(file, **arrays):
        file.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("skstab.runs._storage.np.savez", half)
    with pytest.raises(OSError, match="No space left"):
        full_runs().save(path)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.runs"]
    assert_same_runs(Runs.load(path), old)


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("skstab.runs._storage.np.savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        full_runs().save(tmp_path / "a.runs")
    assert not list(tmp_path.iterdir())

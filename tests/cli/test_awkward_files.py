"""Files as people really have them: how each is read, what is said about it, and which are refused in one line."""

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skstab._cli import _bytes, _report_command
from skstab._cli._cells import USUAL, is_code
from skstab._cli._formats import ReadOptions, unique_names
from skstab._cli._reading import read_dataset
from skstab._cli._sniffing import encoding_of, separator_of, signs_of
from skstab._report.alerts import alerts_of
from skstab._report.columns import why_useless
from skstab._report.words import UserError
from tests.cli.conftest import made_again

N = 24
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=N).round(3), RNG.normal(size=N).round(3)
Y = np.resize(["ill", "well"], N)
CLEAN = pd.DataFrame({"alpha": A, "beta": B, "outcome": Y})


def text_of(table=CLEAN, **options):
    return table.to_csv(index=False, **options)


def said(found):
    return " ".join(found.notes)


@pytest.fixture
def read(tmp_path):
    """Write bytes or text to a file and read it as a report does; the code of the data must do the same."""

    def go(
        content, name="table.csv", target="outcome", task="auto", groups=None, **options
    ):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        found = read_dataset(
            str(path), target, task, options=ReadOptions(**options), groups=groups
        )
        again = made_again(found, target, task=task, groups=groups)
        pd.testing.assert_frame_equal(again.X, found.X)
        pd.testing.assert_series_equal(again.y, found.y)
        return found

    return go


def assert_clean(found):
    """The features and the target of the clean table were understood."""
    assert list(found.X.columns) == ["alpha", "beta"]
    np.testing.assert_allclose(found.X, np.column_stack([A, B]))
    assert found.y.tolist() == Y.tolist()


# -- how files are written ---------------------------------------------------------------------------------------------


def zipped(text):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.csv", text)
    return stream.getvalue()


AS_WRITTEN = {
    "comma": (text_of(), "table.csv", "separator comma, decimal point, utf-8"),
    "semicolon and decimal comma": (
        text_of(sep=";", decimal=","),
        "table.csv",
        "separator semicolon, decimal comma",
    ),
    "semicolon and decimal point": (
        text_of(sep=";"),
        "table.csv",
        "separator semicolon, decimal point",
    ),
    "quoted decimal commas": (
        text_of(decimal=",", quoting=1),
        "table.csv",
        "separator comma, decimal comma",
    ),
    "tabs in a csv": (text_of(sep="\t"), "table.csv", "separator tab"),
    "commas in a tsv": (text_of(), "table.tsv", "separator comma"),
    "bars": (text_of(sep="|"), "table.txt", "separator bar"),
    "spaces": (text_of(sep=" "), "table.txt", "separator spaces"),
    "capital extension": (text_of(), "TABLE.CSV", "separator comma"),
    "byte order mark": (text_of().encode("utf-8-sig"), "table.csv", "utf-8-sig"),
    "utf-16": (text_of(sep="\t").encode("utf-16"), "table.txt", "utf-16"),
    "utf-16 without a mark": (text_of().encode("utf-16-le"), "table.csv", "utf-16-le"),
    "utf-16, high byte first": (
        text_of().encode("utf-16-be"),
        "table.csv",
        "utf-16-be",
    ),
    "utf-32": (text_of().encode("utf-32"), "table.csv", "utf-32"),
    "gzip": (gzip.compress(text_of().encode()), "table.csv.gz", "compressed by gzip"),
    "gzip without its extension": (
        gzip.compress(text_of().encode()),
        "table.csv",
        "compressed by gzip",
    ),
    "no gzip in spite of the extension": (text_of(), "table.csv.gz", "utf-8"),
    "bzip2": (bz2.compress(text_of().encode()), "table.csv.bz2", "compressed by bz2"),
    "xz": (lzma.compress(text_of().encode()), "table.csv.xz", "compressed by xz"),
    "zip": (zipped(text_of()), "table.csv.zip", "compressed by zip"),
    "lines of Windows": (
        text_of(lineterminator="\r\n"),
        "table.csv",
        "separator comma",
    ),
    "lines of an old Macintosh": (
        text_of(lineterminator="\r"),
        "table.csv",
        "separator comma",
    ),
    "title above the header": (
        "Export of 2026\n\nby the laboratory\n" + text_of(),
        "table.csv",
        "3 lines above",
    ),
    "names with spaces around": (
        text_of().replace("beta,outcome", " beta , outcome"),
        "table.csv",
        "comma",
    ),
    "every row ends in a separator": (
        text_of().replace("l\n", "l,\n"),
        "table.csv",
        "comma",
    ),
    "blank lines": (text_of().replace("ill\n", "ill\n\n"), "table.csv", "comma"),
}


@pytest.mark.parametrize(
    ("content", "name", "words"), AS_WRITTEN.values(), ids=AS_WRITTEN
)
def test_how_a_file_is_written_is_found_and_said(content, name, words, read):
    found = read(content, name)
    assert_clean(found)
    assert words in said(found)


@pytest.mark.parametrize(
    ("encoding", "word"),
    [
        ("cp1252", "größe"),
        ("cp1251", "диагноз"),
        ("cp1250", "złoty"),
        ("utf-8", "größe"),
    ],
)
def test_names_in_windows_code_pages_are_read(encoding, word, read):
    found = read(text_of(CLEAN.rename(columns={"alpha": word})).encode(encoding))
    assert list(found.X.columns) == [word, "beta"]
    assert encoding in said(found)


def test_options_override_what_is_found(read):
    table = CLEAN.rename(columns={"alpha": "größe"})
    assert "grцЯe" in read(text_of(table).encode("cp1252"), encoding="cp1251").X
    odd = text_of(sep="~")
    assert_clean(read(odd, sep="~"))
    whole = CLEAN.assign(alpha=np.arange(N) % 7 + 1000).astype({"alpha": str})
    whole["alpha"] = whole["alpha"].str[:1] + "," + whole["alpha"].str[1:]
    assert read(text_of(whole, sep=";"), decimal=",").X["alpha"].max() == pytest.approx(
        1.006
    )
    assert read(text_of(whole, quoting=1)).X["alpha"].max() == pytest.approx(1006)


def test_row_names_without_a_header_are_left_out(read):
    lines = text_of().splitlines()
    found = read(
        "\n".join(
            [lines[0], *(f"sample{i},{line}" for i, line in enumerate(lines[1:]))]
        )
    )
    assert_clean(found)
    assert "Left out, names of rows." in said(found)


@pytest.mark.parametrize("name", ["table.parquet", "table.feather"])
def test_typed_files_are_read(name, read, tmp_path):
    stream = io.BytesIO()
    getattr(
        CLEAN.assign(lab=["<0.5", "n.d.", *map(str, A[2:])]),
        f"to_{name.partition('.')[2]}",
    )(stream)
    found = read(stream.getvalue(), name)
    assert found.X["lab"].iloc[0] == 0.5
    assert np.isnan(found.X["lab"].iloc[1])
    assert_clean(replace(found, X=found.X.drop(columns="lab")))


def workbook(**sheets):
    pytest.importorskip("openpyxl")
    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as writer:
        for name, (table, start) in sheets.items():
            table.to_excel(writer, sheet_name=name, index=False, startrow=start)
    return stream.getvalue()


def test_workbooks_are_read(read):
    book = workbook(
        Data=(CLEAN.assign(crp=["<0.5", "n.d.", *A[2:]]), 0), Other=(CLEAN, 0)
    )
    found = read(book, "table.xlsx")
    assert "sheet 'Data' of 2" in said(found)
    assert found.X["crp"].iloc[0] == 0.5
    assert "crp" not in read(book, "table.xlsx", sheet="Other").X
    with pytest.raises(UserError, match="no sheet 'None here'"):
        read(book, "table.xlsx", sheet="None here")


def far_cell(cell):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(workbook(Data=(CLEAN, 0))))
    book["Data"][cell] = 1
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_a_workbook_with_one_cell_far_away_is_refused_before_it_fills_the_memory(read):
    with pytest.raises(
        UserError, match="'Data' reaches to row 1048576 and column 16384, too many"
    ) as error:
        read(far_cell("XFD1048576"), "table.xlsx")
    assert str(error.value).count("can't be read") == 1


def test_a_sheet_beside_a_huge_one_is_read(read):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(far_cell("XFD1048576")))
    book["Data"]["XFD1048576"] = None  # the cell stays, without a value
    stream = io.BytesIO()
    book.save(stream)
    assert_clean(read(stream.getvalue(), "table.xlsx"))


def test_a_workbook_may_have_a_title_and_the_wrong_extension(read):
    table = CLEAN.assign(when=pd.date_range("2020-01-01", periods=N))
    found = read(workbook(Data=(table, 2)), "table.csv")
    assert_clean(found)
    assert "'when' (of dates or times)" in said(found)


def test_a_missing_reader_of_workbooks_is_said(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(UserError, match=r"need openpyxl: pip install openpyxl"):
        read(stream.getvalue(), "table.xlsx")


# -- what cells mean ---------------------------------------------------------------------------------------------------


def with_column(name, cells, **options):
    return text_of(CLEAN.assign(**{name: cells}), **options)


def test_values_beyond_a_limit_count_as_the_limit(read):
    cells = [f"{value:.2f}" for value in np.abs(A)]
    cells[:4] = ["<0.5", "> 100", "≤0.1", "<=0.2"]
    found = read(with_column("crp", cells))
    np.testing.assert_allclose(found.X["crp"].iloc[:4], [0.5, 100, 0.1, 0.2])
    assert "4 cells of 'crp' count as the limit" in said(found)


def test_limits_with_decimal_commas_are_numbers(read):
    cells = [f"{value:.2f}".replace(".", ",") for value in np.abs(A)]
    cells[0] = "<0,5"
    assert read(with_column("crp", cells, sep=";", decimal=",")).X["crp"].iloc[0] == 0.5


def test_limits_alone_are_classes(read):
    found = read(with_column("age", np.resize(["<40", ">=40"], N)))
    assert "age=>=40" in found.X or "age=<40" in found.X


@pytest.mark.parametrize(
    "word",
    ["NA", "n.d.", "N/A", "#DIV/0!", "nd", "-", "?", "not detected", " n.a. ", "NULL"],
)
def test_words_for_missing_are_counted(word, read):
    cells = [word, word, *map(str, A[2:])]
    found = read(with_column("crp", cells))
    assert found.X["crp"].isna().tolist() == [True, True] + [False] * (N - 2)
    assert "(2 cells)" in said(found)


def test_words_that_are_categories_stay(read):
    states = np.resize(["ND", "SD", "TX"], N)
    found = read(with_column("state", states))
    assert "state=ND" in found.X
    assert (
        read(with_column("metal", np.resize(["NA", "K", "Fe"], N)), keep=["NA"])
        .X["metal=NA"]
        .sum()
        == N / 3
    )
    assert (
        "metal=NA" not in read(with_column("metal", np.resize(["NA", "K", "Fe"], N))).X
    )


def test_more_words_for_missing_can_be_given(read):
    found = read(
        with_column("crp", ["777", "zzz", *map(str, A[2:])]), na=["777", "zzz"]
    )
    assert found.X["crp"].isna().sum() == 2
    assert "'777' (1 cell), 'zzz' (1 cell)" in said(found)


@pytest.mark.parametrize(
    ("values", "code", "is_missing"),
    [
        ([1.0, 500.0, -999.0], -999, True),
        ([-1.5, 2.5, -999.0], -999, True),
        ([-1500.0, 0.0, -999.0], -999, False),
        ([-998.0, -1000.0, -999.0], -999, False),
        ([-90.0, -80.0, -99.0], -99, False),
        ([0.0, 1.0, -99.0], -99, True),
    ],
)
def test_codes_are_missing_only_where_they_can_not_be_values(values, code, is_missing):
    assert is_code(pd.Series(values), code) is is_missing


def test_codes_for_missing_are_counted_and_may_be_kept(read):
    text = with_column("crp", [-999, -999, *np.abs(A[2:])])
    found = read(text)
    assert found.X["crp"].isna().sum() == 2
    assert "Taken as missing: -999 (2 cells of 'crp')." in said(found)
    assert read(text, keep=["-999"]).X["crp"].min() == -999


def test_slips_among_numbers_are_missing_and_shown(read):
    found = read(with_column("crp", ["hemolysed", "1.2.3", *map(str, A[2:])]))
    assert found.X["crp"].isna().sum() == 2
    assert "2 cells of 'crp' ('hemolysed', '1.2.3')" in said(found)


def test_every_word_of_pandas_is_known():
    cells = pd.read_csv(
        io.StringIO("a,b\n" + "\n".join(f'"{word}",1' for word in USUAL))
    )
    assert cells["a"].isna().all()


# -- columns that are no features --------------------------------------------------------------------------------------

USELESS = {
    "days": (
        pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"),
        "of dates or times",
    ),
    "German days": (
        pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y %H:%M"),
        "of dates or times",
    ),
    "American days": (np.resize(["12/31/2020", "1/2/21"], N), "of dates or times"),
    "days as numbers": (20200101 + np.arange(N), "of dates or times"),
    "clock": (np.resize(["12:30", "08:15"], N), "of dates or times"),
    "texts": ([f"note {i} x" for i in range(N)], "whose texts all differ"),
    "nearly": (
        [f"note {max(i, 1)} x" for i in range(N)],
        "whose texts nearly all differ",
    ),
    "row": (np.arange(N), "whole numbers in order"),
    "descending": (500 - 7 * np.arange(N), "whole numbers in order"),
    "sample_id": (RNG.permutation(N) + 1000, "identifiers, by their names"),
    "PatientID": (
        np.repeat(np.arange(N // 2), 2) % 12 + 3.0,
        "identifiers that repeat",
    ),
    "constant": (np.ones(N), "with one value only"),
    "sparse": ([1.0, 2.0, *[np.nan] * (N - 2)], "with values in fewer than a tenth"),
    "empty": ([np.nan] * N, "without any value"),
}


@pytest.mark.parametrize(("values", "reason"), USELESS.values(), ids=USELESS)
def test_columns_that_are_no_features_are_left_out_with_the_reason(
    values, reason, read, request
):
    name = request.node.callspec.id
    found = read(text_of(CLEAN.assign(**{name: values})))
    assert_clean(found)
    assert any(reason in note and repr(name) in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient_age", RNG.integers(20, 90, size=N)),
        ("number of visits", RNG.integers(0, 20, size=N)),
        ("time", np.sort(A)),
        ("ratio", np.resize(["1/2", "3/4"], N)),
        ("version", np.resize(["1.2", "1.3", "2.0"], N)),
    ],
)
def test_features_stay(name, values):
    assert why_useless(pd.Series(values, name=name)) is None


@pytest.mark.parametrize(
    "cells",
    [[b"\x00\xff"] * N, [[1, 2]] * N, [{"a": 1}] * N],
    ids=["bytes", "lists", "structures"],
)
def test_structures_in_a_parquet_file_are_left_out(cells, read):
    stream = io.BytesIO()
    CLEAN.assign(blob=cells).to_parquet(stream)
    found = read(stream.getvalue(), "table.parquet")
    assert_clean(found)
    assert "'blob' (of binary data, lists or other structures)" in said(found)
    assert all(
        "blob" not in alert
        for alert in alerts_of(found, target="outcome", n_resamples=10)
    )
    with pytest.raises(UserError, match="target 'blob' holds binary data"):
        read(stream.getvalue(), "table.parquet", target="blob")


def test_nullable_types_of_a_parquet_file_are_read(read):
    stream = io.BytesIO()
    whole = pd.array([None, *range(N - 1)], dtype="Int64") % 5
    table = CLEAN.assign(
        whole=whole, flag=pd.array(np.resize([True, False, None], N), dtype="boolean")
    )
    table.astype({"outcome": "category"}).to_parquet(stream)
    found = read(stream.getvalue(), "table.parquet")
    assert found.X["whole"].isna().sum() == 1
    assert found.X["flag"].isna().sum() == N / 3


# -- names and the target ----------------------------------------------------------------------------------------------


EXTRA = CLEAN.assign(extra=RNG.normal(size=N).round(2))


def test_names_that_occur_twice_are_renamed_aloud(read):
    found = read(text_of(EXTRA).replace("extra", "alpha"))
    assert list(found.X.columns) == ["alpha", "beta", "alpha (2)"]
    assert "the next 'alpha' is called 'alpha (2)'" in said(found)


def test_new_names_do_not_clash_with_old_ones():
    assert unique_names(["a", " a", "a (2)", "", "a"]) == (
        ["a", "a (3)", "a (2)", "Unnamed: 3", "a (4)"],
        {"a (3)": "a", "a (4)": "a"},
    )


def test_a_second_target_is_never_a_feature(read):
    copy = CLEAN.assign(extra=Y)
    found = read(text_of(copy).replace("extra", "outcome"))
    assert_clean(found)
    assert "1 more column named 'outcome', with the same values: left out." in said(
        found
    )
    with pytest.raises(UserError, match="several columns 'outcome' that differ"):
        read(text_of(EXTRA).replace("extra", "outcome"))


def test_rows_without_a_target_or_a_group_are_counted(read):
    table = CLEAN.assign(patient=np.arange(N) // 2 * 1.0)
    table.loc[0, "outcome"], table.loc[3, "patient"] = "n.d.", np.nan
    found = read(text_of(table), groups="patient")
    assert "1 row without a target was left out." in said(found)
    assert "1 row without a group was left out." in said(found)
    assert list(found.X.columns) == ["alpha", "beta"]
    assert len(found.groups) == len(found.X) == N - 2


def test_classes_of_whole_numbers_have_no_decimals(read):
    found = read(text_of(CLEAN.assign(outcome=[np.nan, *np.resize([0, 1], N - 1)])))
    assert set(found.y) == {"0", "1"}


def test_a_target_of_numbers_may_have_limits_and_missing_values(read):
    cells = [f"{value:.3f}" for value in B + 5]
    cells[:3] = ["<0.5", "n.d.", "-999"]
    found = read(text_of(CLEAN.assign(outcome=cells)))
    assert not found.is_classification
    assert found.y.iloc[0] == 0.5
    assert len(found.y) == N - 2


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("outcome", "another column than the target"),
        ("nobody", "no column 'nobody'"),
        ("few", "at least 10 groups, got 2"),
    ],
)
def test_groups_that_can_not_be_are_refused(groups, words, read):
    with pytest.raises(UserError, match=words):
        read(text_of(CLEAN.assign(few=np.resize([1, 2], N))), groups=groups)


# -- what is refused ---------------------------------------------------------------------------------------------------


def folder(path):
    path.mkdir()


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def damaged(content):
    return lambda path: path.write_bytes(content)


def parquet():
    stream = io.BytesIO()
    CLEAN.to_parquet(stream)
    return stream.getvalue()


def two_files():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.csv", text_of())
        archive.writestr("b.csv", text_of())
    return stream.getvalue()


REFUSED = {
    "no file": ("table.csv", lambda _: None, "there is no file"),
    "folder": ("table.csv", folder, "it is a folder"),
    "pipe": ("table.csv", pipe, "not a regular file"),
    "device": ("table.csv", device, "not a regular file"),
    "empty": ("table.csv", damaged(b""), "is empty"),
    "blank lines only": ("table.csv", damaged(b"\n\n \n"), "is empty"),
    "header only": ("table.csv", damaged(b"alpha,beta,outcome\n"), "at least 10 rows"),
    "truncated gzip": (
        "table.csv.gz",
        damaged(gzip.compress(text_of().encode() * 99)[:-40]),
        "damaged or incomplete",
    ),
    "damaged gzip": (
        "table.csv.gz",
        damaged(b"\x1f\x8b\x08nothing"),
        "damaged or incomplete",
    ),
    "truncated xz": (
        "table.csv.xz",
        damaged(lzma.compress(text_of().encode())[:-20]),
        "damaged or incomplete",
    ),
    "truncated bzip2": (
        "table.csv.bz2",
        damaged(bz2.compress(text_of().encode())[:-20]),
        "damaged or incomplete",
    ),
    "zip of two files": (
        "table.zip.csv",
        damaged(two_files()),
        "this archive has 2 files",
    ),
    "damaged zip": (
        "table.csv.zip",
        damaged(zipped(text_of())[:60]),
        "damaged or incomplete",
    ),
    "truncated parquet": ("table.parquet", damaged(parquet()[:-30]), "can't be read"),
    "damaged feather": (
        "table.feather",
        damaged(b"ARROW1" + bytes(50)),
        "can't be read",
    ),
    "damaged workbook": (
        "table.xlsx",
        damaged(b"PK\x03\x04" + bytes(100)),
        "damaged or incomplete",
    ),
    "old workbook": (
        "table.xlsx",
        damaged(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)),
        "save it as .xlsx or .csv",
    ),
    "zstd": (
        "table.csv.zst",
        damaged(b"\x28\xb5\x2f\xfd" + bytes(20)),
        "decompress it first",
    ),
    "zeros": ("table.csv", damaged(bytes(5000)), "not a text"),
    "a program": (
        "table.csv",
        damaged(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00>\x00" * 40),
        "can't be read",
    ),
    "unclosed quote": (
        "table.csv",
        damaged(b'alpha,beta,outcome\n"1,2,3\n' + b"1,2,3\n" * 20),
        "can't be read",
    ),
    "rows of many widths": (
        "table.csv",
        damaged(b"a,b\n1,2\n1,2,3,4\n1\n"),
        "can't be read",
    ),
    "one column": (
        "table.csv",
        damaged(b"outcome\n" + b"ill\nwell\n" * 12),
        "nothing to select from",
    ),
    "unknown extension": ("table.docx", damaged(b"x"), "must end in .csv"),
    "binary cells": (
        "table.csv",
        damaged(text_of().encode() + b"\xff\xfe\x00\x01,1,ill\n"),
        "can't be read",
    ),
}


@pytest.mark.parametrize(("name", "make", "words"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_read_is_refused_in_a_line(
    name, make, words, tmp_path, complaint
):
    make(tmp_path / name)
    assert words in complaint(
        "report", tmp_path / name, "--target", "outcome", "-o", tmp_path / "out.html"
    )
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize(
    "address",
    ["https://example.org/table.csv", "s3://bucket/table.parquet", "file:///table.csv"],
)
def test_no_address_is_fetched(address, complaint):
    assert "nothing is fetched" in complaint("report", address, "--target", "y")
    assert "nothing is fetched" in complaint("measure", address)


def test_what_grows_too_large_is_refused(read, monkeypatch):
    monkeypatch.setattr(_bytes, "MOST_BYTES", 10_000)
    with pytest.raises(UserError, match="more than"):
        read(gzip.compress(b"0" * 1_000_000), "table.csv.gz")
    with pytest.raises(UserError, match="more than"):
        read(zipped("0" * 1_000_000), "table.csv.zip")
    with pytest.raises(UserError, match="more than"):
        read("0" * 20_000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--time", "alpha"], "time and event go together"),
        (["--event", "outcome"], "time and event go together"),
        (
            ["--time", "alpha", "--event", "e", "--target", "outcome"],
            "can't be combined",
        ),
        (["--time", "alpha", "--event", "alpha"], "must be two columns"),
        (["--time", "outcome", "--event", "alpha"], "time 'outcome' must be numbers"),
        (
            ["--target", "outcome", "--checkpoint", "/no/such/folder/c"],
            "--checkpoint '/no/such/folder/c' can't be used",
        ),
        (["--target", "outcome", "--sheet", "x"], "--sheet goes with workbooks"),
        (["--target", "outcome", "--encoding", "klingon"], "no encoding 'klingon'"),
        (["--target", "outcome", "--encoding", "ascii"], "not a text in ascii"),
        (["--target", "outcome", "--sep", "ab"], "must be one sign"),
        (["--target", "outcome", "--scoring", "magic"], "no score 'magic'"),
        (["--target", "outcome", "--scoring", "r2"], "does not suit classification"),
        (["--target", "alpha", "--scoring", "accuracy"], "does not suit regression"),
    ],
)
def test_wrong_options_are_told_in_a_line(options, words, tmp_path, complaint):
    path = tmp_path / "table.csv"
    path.write_text(text_of(CLEAN.rename(columns={"beta": "größe"})), encoding="utf-8")
    assert words in complaint("report", path, *options)


def understood(path, content):
    """Whether a file is read; everything else must be refused in a line."""
    path.write_bytes(content)
    try:
        read_dataset(str(path), "y", "auto")
    except UserError:
        return False
    return True


CELLS = st.sampled_from(
    [
        "",
        "1",
        "2.5",
        "-999",
        "<0.5",
        "n.d.",
        "a",
        "b",
        '"',
        ";",
        "1,5",
        "2020-01-01",
        "inf",
        " ",
        "é",
    ]
)
MAGIC = st.sampled_from(
    [
        b"",
        b"\x1f\x8b\x08",
        b"BZh9",
        b"\xfd7zXZ\x00",
        b"PK\x03\x04",
        b"PAR1",
        b"ARROW1",
        b"\xff\xfe",
    ]
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    MAGIC,
    st.binary(max_size=200),
    st.sampled_from([".csv", ".parquet", ".xlsx", ".feather", ".csv.gz"]),
)
def test_no_bytes_give_a_traceback(magic, content, suffix):
    with TemporaryDirectory() as folder:
        assert not understood(Path(folder) / f"table{suffix}", magic + content)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=8, max_size=16),
    st.sampled_from(",;\t"),
)
def test_no_cells_give_a_traceback(rows, separator):
    text = "\n".join(separator.join([*row, "ab"[i % 2]]) for i, row in enumerate(rows))
    with TemporaryDirectory() as folder:
        understood(
            Path(folder) / "table.csv",
            f"a{separator}b{separator}c{separator}y\n{text}\n".encode("cp1252"),
        )


# -- the kernels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "separator", "signs"),
    [
        (["1.5", "2"], ",", (".", "")),
        (["1,5", "2,25"], ";", (",", "")),
        (["1.234,5", "2,25"], ";", (",", ".")),
        (["1,234.5", "12.5"], ",", (".", ",")),
        (["1,234", "12.5"], ";", (".", ",")),
        (["<0,5", "a"], ";", (",", "")),
        (["a", "b"], ",", (".", "")),
    ],
)
def test_signs_of_numbers(cells, separator, signs):
    assert signs_of(cells, separator) == signs


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        (["a;b", "1,5;2,5"], ";"),
        (["a,b", "x;y,1", "z,2"], ","),
        (["a\tb", "1,2\t3"], "\t"),
        (['"a,b";c', '"1,2";3'], ";"),
        (["a b c", "1 2 3"], r"\s+"),
        (["a\tb", *['"x, y"\t1'] * 9, "extra\t1\t2"], "\t"),
        (["alone", "1"], ","),
    ],
)
def test_the_separator_gives_rows_of_one_width(lines, separator):
    assert separator_of(lines, ",") == separator


def test_units_are_no_letters_of_central_europe():
    assert encoding_of("volume in cm³ at 5 µg/m³, größe".encode("cp1252")) == "cp1252"


# -- the file that is written ------------------------------------------------------------------------------------------


class Quick:
    """A report that takes no time."""

    alerts: ClassVar[list[str]] = []

    def answers(self):
        return ["None recommended."]

    def html(self):
        return (
            '<!DOCTYPE html><html><head><meta name="generator" content="skstab 0">new'
        )


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """A command whose comparison takes no time, on a clean table."""
    monkeypatch.setattr(_report_command, "make_report", lambda *_, **__: Quick())
    path = tmp_path / "table.csv"
    path.write_text(text_of())
    return ["report", path, "--target", "outcome", "--resamples", "10", "-o"]


def test_an_earlier_report_is_replaced(quick, command, tmp_path):
    output = tmp_path / "out.html"
    for _ in range(2):
        assert command(*quick, output)[0] == 0
    assert output.read_text() == Quick().html()
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "out.html"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("table.csv", "is the table itself"),
        ("notes.txt", "not an earlier report"),
        ("pipe", "not"),
    ],
)
def test_no_other_file_is_replaced(name, words, quick, complaint, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "table.csv").read_text()
    assert words in complaint(*quick, tmp_path / name)
    assert (tmp_path / "table.csv").read_text() == before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_link_to_the_table_is_the_table(quick, complaint, tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "table.csv")
    assert "is the table itself" in complaint(*quick, tmp_path / "link.html")


def test_on_a_full_disk_the_earlier_report_stays(quick, command, tmp_path, monkeypatch):
    output = tmp_path / "out.html"
    output.write_text(Quick().html() + " old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "beside").mkdir()
    status, _, err = command(
        *quick, output, "--checkpoint", tmp_path / "beside" / "runs"
    )
    assert status == 2
    assert "No space left on device; the report is kept as " in err
    assert len(err.splitlines()) == 1
    assert output.read_text().endswith(" old")
    assert {path.name for path in tmp_path.iterdir()} == {
        "table.csv",
        "out.html",
        "beside",
    }
    (kept,) = (tmp_path / "beside").glob("out-*.html")
    assert kept.read_text() == Quick().html()


def test_strict_ends_with_status_1_and_writes_nothing(quick, command, tmp_path):
    output = tmp_path / "out.html"
    assert command(*quick, output, "--strict")[0] == 0
    output.unlink()
    (tmp_path / "table.csv").write_text(
        text_of(CLEAN.assign(copy=np.where(Y == "ill", 1.5, 2.5)))
    )
    status, out, err = command(*quick, output, "--strict")
    assert status == 1
    assert "Alert: Possible leak: 'copy' alone predicts 'outcome'" in out
    assert (
        err == "skstab: error: 1 alert with --strict: nothing was compared or written\n"
    )
    assert not output.exists()
    assert command(*quick, output)[0] == 0

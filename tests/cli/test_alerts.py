"""What may mislead is found and named, and what is harmless gives no alert."""

import numpy as np
import pandas as pd
import pytest

from skstab._cli._reading import read_dataset
from skstab._report import alerts as _alerts
from skstab._report.alerts import alerts_of, near_copies, says
from skstab._report.comparing import scoring_of, stratifies
from skstab._report.dataset import Endpoint, dataset_of

N = 80


def harmless(seed=0, n=N, d=5):
    """Numbers, a category and a target that goes with two of them, but not too well."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{i}" for i in range(d)])
    table["colour"] = rng.choice(["red", "green"], size=n)
    signal = table["x0"] + table["x1"] + rng.normal(size=n)
    return table.assign(
        outcome=np.where(signal > signal.median(), "ill", "well"), level=signal
    )


@pytest.fixture
def alerts(table_file):
    """The alerts on a table."""

    def find(table, target="outcome", groups=None, n_resamples=20):
        other = {"outcome": "level", "level": "outcome"}[target]
        data = read_dataset(
            table_file(table.drop(columns=other), "table.parquet"),
            target,
            "auto",
            groups=groups,
        )
        return alerts_of(data, target=target, n_resamples=n_resamples)

    return find


@pytest.mark.parametrize("target", ["outcome", "level"])
@pytest.mark.parametrize("seed", range(3))
def test_a_harmless_table_gives_no_alert(seed, target, alerts):
    assert alerts(harmless(seed), target) == []


ILL = harmless()["outcome"] == "ill"
LEVEL = harmless()["level"]
NOISE = np.random.default_rng(1).normal(size=N)
CLASS_LEAKS = {
    "copy in numbers": (
        "leak",
        np.where(ILL, 1.0, 0.0) + 0.1 * NOISE,
        "'leak' alone predicts",
    ),
    "copy in texts": (
        "leak",
        np.where(ILL, "yes", "no"),
        "the texts of 'leak' say what 'outcome' is",
    ),
    "words in unique texts": (
        "letter",
        [f"patient {i} is {label}." for i, label in enumerate(harmless()["outcome"])],
        "the texts of 'letter' say what 'outcome' is",
    ),
    "code in texts": (
        "code",
        [f"{'A' if ill else 'B'}{i % 7}" for i, ill in enumerate(ILL)],
        "'code'",
    ),
    "one value missing": (
        "leak",
        np.where(np.arange(N) == 3, np.nan, 1.0 * ILL),
        "'leak' alone predicts",
    ),
    "both ends": (
        "leak",
        np.where(ILL, np.sign(NOISE) * 3, 0) + 0.1 * NOISE,
        "'leak' alone predicts",
    ),
}


@pytest.mark.parametrize(
    ("name", "values", "words"), CLASS_LEAKS.values(), ids=CLASS_LEAKS
)
def test_leaks_of_classes_are_named(name, values, words, alerts):
    found = [
        alert
        for alert in alerts(harmless().assign(**{name: values}))
        if alert.startswith("Possible leak")
    ]
    assert any(words in alert for alert in found)
    assert not any("'x0'" in alert for alert in found)


@pytest.mark.parametrize(
    "values",
    [2 * LEVEL + 1, LEVEL + 0.01 * NOISE, np.exp(-LEVEL)],
    ids=["scaled", "noisy", "exp"],
)
def test_leaks_of_numbers_are_named(values, alerts):
    assert any(
        "'leak' alone predicts 'level'" in alert
        for alert in alerts(harmless().assign(leak=values), "level")
    )


@pytest.mark.parametrize("side", [1.0, np.sign(NOISE)], ids=["one end", "both ends"])
def test_a_leak_is_found_among_many_columns(side, alerts):
    table = harmless(d=300)
    table = table.assign(
        leak=np.where(table["outcome"] == "ill", 3.0 * side, 0.0) + 0.1 * NOISE
    )
    assert any("'leak' alone predicts" in alert for alert in alerts(table))


def test_texts_that_say_little_are_no_leak():
    y = pd.Series(["ill", "well"] * 20)
    assert says(pd.Series(["a", "b"] * 20), y)
    assert not says(pd.Series(["a", "a", "b"] * 13 + ["a"]), y)
    assert not says(pd.Series([f"ill or well {i}" for i in range(40)]), y)
    assert not says(pd.Series([f"text {i}" for i in range(40)]), y)


def test_copies_of_columns_are_named(alerts):
    table = harmless()
    table = table.assign(twin=table["x2"], near=-3 * table["x3"] + 0.01 * NOISE)
    (alert,) = alerts(table)
    assert "'x2' and 'twin'" in alert
    assert "'x3' and 'near'" in alert


@pytest.mark.parametrize("block", [2, 7, 100])
def test_near_copies_are_those_of_the_correlations(block, monkeypatch):
    monkeypatch.setattr(_alerts, "_BLOCK", block)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12))
    X[:, 5], X[:, 11], X[:, 7] = (
        X[:, 0] * 2 + 1,
        -X[:, 5] + 0.01 * rng.normal(size=30),
        4.0,
    )
    R = np.abs(np.corrcoef(np.delete(X, 7, axis=1), rowvar=False))
    kept = np.delete(np.arange(12), 7)
    expected = {
        (kept[i], kept[j]) for i in range(11) for j in range(i) if R[i, j] >= 0.995
    }
    assert (
        {tuple(sorted(pair, reverse=True)) for pair in near_copies(X)}
        == expected
        != set()
    )


def test_copies_of_rows_are_counted(alerts):
    table = harmless()
    table.loc[5:7] = table.loc[10:12].to_numpy()
    assert any("3 rows are copies of others" in alert for alert in alerts(table))
    few = table.assign(**{f"x{i}": table[f"x{i}"] > 0 for i in range(5)})
    assert not any("copies of others" in alert for alert in alerts(few))


def test_unequal_classes_come_with_the_score_of_a_guess(alerts):
    table = harmless().assign(outcome=["ill"] * 8 + ["well"] * 72)
    found = " ".join(alerts(table))
    assert "90% of the rows are 'well'" in found
    assert "accuracy of 0.90, and a balanced accuracy of 0.50" in found
    assert "'ill' (8 rows)" in found


def test_sizes_are_said(alerts):
    found = " ".join(alerts(harmless(d=100), n_resamples=90))
    assert "more features (101) than rows (80)" in found
    assert "fewer rows (80) than resamples (90)" in found


PATIENTS = np.repeat(np.arange(N // 2), 2)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient_id", PATIENTS + 1000),
        ("Subject", [f"S{i}" for i in PATIENTS]),
        ("who", [f"P-{i:03}" for i in PATIENTS]),
    ],
)
def test_patients_with_several_rows_are_named(name, values, alerts):
    table = harmless().assign(**{name: values})
    (alert,) = alerts(table)
    assert (
        f"{name!r} looks like patients with several rows (40 different values)" in alert
    )
    assert f"groups={name!r}" in alert
    assert alerts(table, groups=name) == []
    assert "fewer groups (40) than resamples (50)" in " ".join(
        alerts(table, groups=name, n_resamples=50)
    )


@pytest.mark.parametrize("target", ["outcome", "level"])
def test_batches_are_named_with_their_relation_to_the_target(target, alerts):
    rng = np.random.default_rng(0)
    table = harmless()
    confounded = (
        np.where(rng.random(N) < 0.8, table["outcome"] == "ill", rng.random(N) < 0.5)
        + 1
    )
    found = alerts(
        table.assign(batch=confounded, plate_no=rng.integers(1, 4, size=N)), target
    )
    assert any(
        f"'batch' looks like a batch or a site, and is related to '{target}'" in alert
        for alert in found
    )
    assert any(
        "'plate_no' looks like a batch or a site, and is not visibly related" in alert
        for alert in found
    )
    assert len(found) == 2


# -- what follows from the data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "scoring"),
    [
        (["a"] * 40 + ["b"] * 40, "accuracy"),
        (["a"] * 48 + ["b"] * 32, "accuracy"),
        (["a"] * 50 + ["b"] * 30, "roc_auc"),
        (["a"] * 20 + ["b"] * 20 + ["c"] * 40, "roc_auc_ovr"),
        (list(LEVEL), "r2"),
    ],
)
def test_the_score_suits_the_target(target, scoring, table_file):
    data = read_dataset(
        table_file(harmless().assign(outcome=target)), "outcome", "auto"
    )
    assert scoring_of(data) == scoring


def test_resamples_keep_the_classes_where_groups_have_one_each(table_file):
    table = harmless().assign(patient=PATIENTS)
    mixed = read_dataset(table_file(table), "outcome", "auto", groups="patient")
    assert not stratifies(mixed)
    pure = table.assign(outcome=np.where(PATIENTS % 2, "ill", "well"))
    assert stratifies(
        read_dataset(table_file(pure), "outcome", "auto", groups="patient")
    )
    assert not stratifies(
        read_dataset(table_file(table), "level", "auto", groups="patient")
    )


# -- gaps and levels of identifiers ----------------------------------------------------


def test_gaps_that_say_the_event_or_the_class_are_leaks():
    rng = np.random.default_rng(0)
    dead = rng.random(80) < 0.5
    table = pd.DataFrame(
        {
            "age": rng.normal(60, 9, 80),
            "cause": np.where(dead, rng.choice(["x", "y"], 80), None),
            "gaps": np.where(rng.random(80) < 0.3, np.nan, rng.normal(size=80)),
            "days": rng.integers(1, 900, 80),
            "died": dead.astype(int),
        }
    )
    survival = dataset_of(table, Endpoint(time="days", event="died"))
    found = [
        a for a in alerts_of(survival, target="died", n_resamples=50) if "missing" in a
    ]
    assert len(found) == 1
    assert "whether 'cause' is missing says whether there was an event" in found[0]
    classes = dataset_of(table.drop(columns="days"), Endpoint(target="died"))
    found = [
        a for a in alerts_of(classes, target="died", n_resamples=50) if "missing" in a
    ]
    assert "whether 'cause' is missing says the class" in found[0]


def test_groups_are_the_persons_and_not_the_numbers_of_samples():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "Sample Number": np.tile(np.arange(1, 31), 3),
            "Individual ID": [f"N{n}A{m}" for n in range(45) for m in (1, 2)],
            "size": rng.normal(size=90),
            "mass": rng.normal(size=90),
            "kind": rng.choice(["a", "b"], 90),
        }
    )
    table["Individual ID"] = table["Individual ID"].str[:-2]
    data = dataset_of(table, Endpoint(target="kind"))
    found = [
        a for a in alerts_of(data, target="kind", n_resamples=50) if "groups=" in a
    ]
    assert "groups='Individual ID'" in found[0]

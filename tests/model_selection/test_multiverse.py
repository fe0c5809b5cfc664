"""The split of the instability into data, choices, their interaction and the seed."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest, chi2
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skstab.metrics import nogueira_stability
from skstab.model_selection import BootstrapSplit, Multiverse, StabilityCV, multiverse
from skstab.runs import Runs

SOURCES = ["data", "choices", "interaction", "seed"]
CV = BootstrapSplit(5, random_state=0)


def made_of(table):
    """A multiverse of a table of resamples × pipelines × seeds × features."""
    return Multiverse(
        {
            f"p{number}": [Runs(table[:, number, seed]) for seed in range(len(cell[0]))]
            for number, cell in enumerate(table.transpose(1, 0, 2, 3))
        }
    )


def distance(a, b):
    return ((a.astype(int) - b.astype(int)) ** 2).sum() / 2


def null_of(table):
    flat = table.reshape(-1, table.shape[-1])
    k = flat.sum(axis=1).mean()
    return k * (1 - k / flat.shape[1])


def mean_distance(table, *, same_resample, same_pipeline):
    """Over all ordered pairs of different runs, by what they share."""
    cells = list(product(*map(range, table.shape[:3])))
    found = [
        distance(table[a], table[b])
        for a, b in product(cells, cells)
        if a != b
        and (a[0] == b[0]) == same_resample
        and (a[1] == b[1]) == same_pipeline
    ]
    return np.mean(found) / null_of(table)


@st.composite
def designs(draw):
    r, a, s, d = (draw(st.integers(low, 4)) for low in (3, 2, 1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    chances = rng.random((r, 1, 1, d)) + rng.random((1, a, 1, d))
    table = rng.random((r, a, s, d)) < chances / 2
    table[0, 0, 0, 0], table[0, 0, 0, 1] = True, False  # something to choose
    return table


@settings(max_examples=40, deadline=None)
@given(table=designs())
def test_the_parts_are_differences_of_mean_distances_and_add_up(table):
    found = made_of(table)
    other = {"same_resample": False, "same_pipeline": False}
    both = mean_distance(table, **other)
    data = both - mean_distance(table, **(other | {"same_resample": True}))
    choices = both - mean_distance(table, **(other | {"same_pipeline": True}))
    many = table.shape[2] > 1
    seed = (
        mean_distance(table, same_resample=True, same_pipeline=True) if many else np.nan
    )
    expected = [data, choices, both - data - choices - np.nan_to_num(seed), seed]
    shares = found.shares()
    np.testing.assert_allclose(shares["part"], expected, atol=1e-9)
    assert found.stability == pytest.approx(1 - both)
    assert shares["part"].sum() == pytest.approx(1 - found.stability)
    assert list(shares.index) == SOURCES


@settings(max_examples=40, deadline=None)
@given(table=designs())
def test_sums_of_squares_split_the_instability_of_all_runs(table):
    z = table.astype(float)
    r, a, s, _ = z.shape
    mean, by_r, by_a, cell = (
        z.mean(axis=axes, keepdims=True) for axes in ((0, 1, 2), (1, 2), (0, 2), (2,))
    )
    sums = [
        a * s * ((by_r - mean) ** 2).sum(),
        r * s * ((by_a - mean) ** 2).sum(),
        s * ((cell - by_r - by_a + mean) ** 2).sum(),
        ((z - cell) ** 2).sum() if s > 1 else np.nan,
    ]
    found = made_of(table).shares()["sum_of_squares"]
    expected = np.array(sums) / (r * a * s - 1) / null_of(table)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    flat = table.reshape(-1, table.shape[-1])
    assert found.sum() == pytest.approx(1 - nogueira_stability(flat))


@settings(max_examples=25, deadline=None)
@given(table=designs())
def test_the_parts_are_the_variance_components_of_the_mean_squares(table):
    z = table.astype(float)
    r, a, s, _ = z.shape
    squares = made_of(table).shares()["sum_of_squares"].to_numpy() * (r * a * s - 1)
    ms_data, ms_choices = squares[0] / (r - 1), squares[1] / (a - 1)
    ms_both = squares[2] / ((r - 1) * (a - 1))
    seed = squares[3] / (r * a * (s - 1)) if s > 1 else 0.0
    expected = [
        (ms_data - ms_both) / (a * s),
        (ms_choices - ms_both) / (r * s),
        (ms_both - seed) / s,
    ]
    parts = made_of(table).shares()["part"][:3]
    np.testing.assert_allclose(parts, expected, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(table=designs())
def test_intervals_are_the_jackknife_over_resamples(table):
    from scipy.stats import t

    def null_is_positive(part):
        return 0 < part.reshape(-1, part.shape[-1]).mean() < 1

    r = len(table)
    fewer = [np.delete(table, number, axis=0) for number in range(r)]
    if r < 4 or not all(map(null_is_positive, fewer)):
        return
    left_out = np.array([made_of(part).shares()["part"] for part in fewer])
    error = np.sqrt((r - 1) / r * ((left_out - left_out.mean(0)) ** 2).sum(0))
    shares = made_of(table).shares()
    half = t(r - 1).ppf(0.975) * error
    np.testing.assert_allclose(shares["high"], shares["part"] + half, atol=1e-9)
    np.testing.assert_allclose(shares["low"], shares["part"] - half, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(table=designs())
def test_the_choices_are_the_mean_over_pairs(table):
    found = made_of(table)
    pairs = found.pairs()
    assert pairs["part"].mean() == pytest.approx(found.shares().loc["choices", "part"])
    assert pairs["part"].is_monotonic_decreasing
    one = pairs.iloc[0]
    a, b = (table[:, int(name[1:])] for name in (one["a"], one["b"]))
    same = np.mean([[distance(x, y) for x in i for y in j] for i, j in zip(a, b)])  # noqa: B905
    assert one["same_resample"] == pytest.approx(1 - same / null_of(table))
    first, second = (part.mean(axis=(0, 1)) for part in (a, b))
    most = np.abs(first - second).argmax()
    assert one["feature"] == f"x{most}"
    assert (one["frequency_a"], one["frequency_b"]) == (first[most], second[most])


def test_pipelines_run_on_the_same_resamples_as_alone():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    pipelines = {"F": SelectKBest(k=10), "chi2": SelectKBest(chi2, k=3)}
    found = multiverse(pipelines, X, y, cv=CV)
    for name, selector in pipelines.items():
        alone = StabilityCV(selector, cv=CV).fit(X, y).runs_
        np.testing.assert_array_equal(found.runs[name][0].supports, alone.supports)
    table = found.frame()
    assert table.loc["F", "n_features"] == 10
    assert table.loc["chi2", "stability"] == pytest.approx(
        nogueira_stability(found.runs["chi2"][0].supports)
    )
    assert found.pairs()["feature"].isin(X.columns).all()
    assert "2 pipelines on 5 resamples" in repr(found)


def test_seeds_vary_only_what_is_random_and_an_int_repeats_them():
    X, y = load_breast_cancer(return_X_y=True)
    forest = ExtraTreesClassifier(5, random_state=0)
    pipelines = {
        "forest": SelectFromModel(forest, max_features=5, threshold=-np.inf),
        "F": SelectKBest(k=10),
    }
    found, again = (
        multiverse(pipelines, X, y, cv=CV, n_seeds=2, random_state=3).shares()
        for _ in range(2)
    )
    np.testing.assert_array_equal(found, again)
    assert found.loc["seed", "part"] > 0
    two_filters = [SelectKBest(k=10), SelectKBest(chi2, k=3)]
    exact = multiverse(two_filters, X, y, cv=CV, n_seeds=2).shares()
    assert exact.loc["seed", "part"] == 0


def test_scores_are_shown_and_groups_go_to_the_splitter():
    X, y = load_breast_cancer(return_X_y=True)
    models = [make_pipeline(SelectKBest(k=k), GaussianNB()) for k in (4, 10)]
    groups = np.arange(len(y)) // 2
    found = multiverse(models, X, y, groups=groups, cv=CV)
    assert found.frame()["score"].between(0.5, 1).all()
    counts = found.runs["pipeline-1"][0].row_counts.toarray()
    pairs = counts[:, : len(y) // 2 * 2].reshape(5, -1, 2)
    assert (pairs[..., 0] == pairs[..., 1]).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pipelines": SelectKBest()}, "pipelines must be a dict or list of at least"),
        ({"n_seeds": 0}, "n_seeds must be an int"),
        ({"support_from": "x"}, "support_from must be"),
        ({"cv": [([0, 1], [2])] * 2}, "cv must give at least 3 splits"),
        ({"confidence_level": 2}, "confidence_level must be"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    X, y = load_breast_cancer(return_X_y=True)
    given = {"pipelines": [SelectKBest(), SelectKBest(k=3)]} | wrong
    with pytest.raises(ValueError, match=message):
        multiverse(given.pop("pipelines"), X, y, **given)


def test_runs_that_do_not_belong_together_are_refused():
    a, b = Runs(np.eye(4)), Runs(np.eye(4), feature_names=list("abcd"))
    for wrong in ([a, b], {"a": [a]}, {"a": [a], "b": []}, {"a": [a], "b": [a, a]}):
        with pytest.raises(ValueError, match="runs must be a dict"):
            Multiverse(wrong)
    with pytest.raises(ValueError, match="runs must be of the same features"):
        Multiverse({"a": [a], "b": [b]})
    few = Runs(np.eye(4), split_numbers=[2, 3, 4, 5])
    with pytest.raises(ValueError, match="runs must share at least 3 resamples"):
        Multiverse({"a": [a], "b": [few]})


def test_only_resamples_that_all_share_count_in_whatever_order():
    table = np.random.default_rng(0).random((6, 2, 1, 5)) < 0.5
    order = [5, 2, 0, 1, 3]
    late = Runs(table[order, 1, 0], split_numbers=order)
    found = Multiverse({"a": [Runs(table[:, 0, 0])], "b": [late]}).shares()
    np.testing.assert_allclose(found, made_of(table[np.sort(order)]).shares())


def test_the_picture_shows_the_parts_and_the_pairs_that_disagree_most():
    table = np.random.default_rng(0).random((6, 3, 2, 5)) < 0.5
    found = made_of(table)
    drawn = found.plot(n_pairs=2).frame()
    assert drawn["name"].tolist()[:4] == SOURCES
    np.testing.assert_allclose(drawn["part"][:4], found.shares()["part"])
    np.testing.assert_allclose(drawn["part"][4:], found.pairs()["part"][:2])
    with pytest.raises(ValueError, match="n_pairs must be"):
        found.plot(n_pairs=-1)

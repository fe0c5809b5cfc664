"""The whole road at reduced size: nogueira2018, section 6.1, figures 6 to 9 and table 5 at high redundancy."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skstab.datasets import make_redundant_classification
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    pareto_front,
    stability_scoring,
)

N_RELEVANT = 50
GRID = {"estimator__C": np.logspace(-2.25, -0.375, 11)}
# The mean number of irrelevant features in a run, as a share of that of the best likelihood.
STRATEGIES = {"knee": 0.3, "tolerance": 0.15}


@pytest.fixture(scope="module", params=[0, 4])
def halves(request):
    """Half of the rows are for the choice, the others for the final model."""
    X, y = make_redundant_classification(
        2000, redundancy=0.8, random_state=request.param
    )
    return (X[:1000], y[:1000]), (X[1000:], y[1000:])


@pytest.fixture(scope="module")
def search(halves):
    runs = StabilityCV(
        LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0),
        cv=BootstrapSplit(20, random_state=0),
        scoring="neg_log_loss",
    )
    refit = ParetoRefit("neg_log_loss", "nogueira")
    return GridSearchCV(
        runs, GRID, cv=WholeSampleSplit(), scoring=stability_scoring(), refit=refit
    ).fit(*halves[0])


@pytest.fixture(scope="module")
def frequencies(halves, search):
    """How often each candidate that any strategy chooses selected each feature."""
    fitted = {search.best_index_: search.best_estimator_}

    def of(index):
        if index not in fitted:
            fitted[index] = StabilityCV(**search.estimator.get_params(deep=False))
            fitted[index].set_params(**search.cv_results_["params"][index]).fit(
                *halves[0]
            )
        return fitted[index].selection_frequencies_

    return of


def chosen_by(strategy, search):
    refit = ParetoRefit("neg_log_loss", "nogueira", strategy=strategy, tolerance=0.02)
    return refit(search.cv_results_)


def most_likely(search):
    index = int(search.cv_results_["mean_test_neg_log_loss"].argmax())
    assert 0 < index < len(GRID["estimator__C"]) - 1, (
        "the best likelihood should be inside the grid"
    )
    return index


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_stability_removes_irrelevant_features(search, frequencies, strategy):
    chosen, best = chosen_by(strategy, search), most_likely(search)
    irrelevant, irrelevant_of_best = (
        frequencies(index)[N_RELEVANT:] for index in (chosen, best)
    )
    # The paper, figure 9: by likelihood alone the irrelevant ones can't be told from the relevant ones.
    assert irrelevant_of_best.sum() > 2
    assert (irrelevant_of_best > 0).mean() > 0.5
    assert irrelevant.sum() < STRATEGIES[strategy] * irrelevant_of_best.sum()
    relevant, relevant_of_best = (
        frequencies(index)[:N_RELEVANT] for index in (chosen, best)
    )
    assert relevant.sum() > 0.75 * relevant_of_best.sum()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_at_a_negligible_loss_of_likelihood(search, strategy):
    results, chosen, best = (
        search.cv_results_,
        chosen_by(strategy, search),
        most_likely(search),
    )
    assert (
        results["mean_test_neg_log_loss"][best]
        - results["mean_test_neg_log_loss"][chosen]
        < 0.02
    )
    assert (
        results["mean_test_nogueira"][chosen]
        > results["mean_test_nogueira"][best] + 0.03
    )


def test_the_search_chose_the_knee(search):
    assert search.best_index_ == chosen_by("knee", search) != most_likely(search)
    front = pareto_front(search.cv_results_, "neg_log_loss", "nogueira")
    assert front[0] == most_likely(search)
    assert {chosen_by(strategy, search) for strategy in STRATEGIES} <= set(
        front.tolist()
    )


def false_positives(search, rows, index):
    final = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
    final.set_params(C=search.cv_results_["params"][index]["estimator__C"]).fit(*rows)
    return np.count_nonzero(final.coef_[0, N_RELEVANT:])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_fewer_false_positives_on_new_rows(halves, search, strategy):
    by_likelihood = false_positives(search, halves[1], most_likely(search))
    assert by_likelihood > 0
    assert (
        false_positives(search, halves[1], chosen_by(strategy, search)) < by_likelihood
    )

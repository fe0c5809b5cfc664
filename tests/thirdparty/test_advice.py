"""What a refusal advises can be followed, for every class of scikit-learn."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    f_classif,
    f_regression,
)
from sklearn.pipeline import make_pipeline

from skstab import StabilityCV
from tests.every import ALL, NO_TABLES, SPLITS, by_hand, data_for, make

warnings.simplefilter("ignore")


def ranking(X, y):
    target = np.asarray(y).reshape(len(y), -1)[:, 0]
    return (f_classif if np.unique(target).size < 4 else f_regression)(X, target)


ADVICE = {
    r"SelectFromModel\((\w+)\(": SelectFromModel,
    r"RFE\((\w+)\(": lambda model: RFE(model, n_features_to_select=2),
    r"SequentialFeatureSelector\((\w+)\(": lambda model: SequentialFeatureSelector(
        model, n_features_to_select=2, cv=2
    ),
    r"a (selector) before it in a Pipeline": lambda model: make_pipeline(
        SelectKBest(ranking, k=2), model
    ),
}


# The dictionary of a SparseCoder fixes the number of features.
@pytest.mark.parametrize("name", sorted(ALL.keys() - NO_TABLES - {"SparseCoder"}))
def test_the_advice_of_a_refusal_can_be_followed(name):
    X, y = data_for(name)
    estimator = make(name)
    if by_hand(name, clone(estimator).fit(X, y)) is not None:
        return
    with pytest.raises(ValueError, match="select") as refusal:
        StabilityCV(estimator, cv=SPLITS, random_state=0).fit(X, y)
    message = str(refusal.value)
    followed = 0
    for advice, wrap in ADVICE.items():
        found = re.search(advice, message)
        if found is not None:
            # The model inside a wrapper is called by its own name.
            model = make(found[1]) if found[1] in ALL else make(name)
            runs = StabilityCV(wrap(model), cv=SPLITS, random_state=0).fit(X, y)
            assert runs.supports_.shape == (2, X.shape[1])
            followed += 1
    assert followed
    if 'measure its weights or their ranking (measure="pearson"' in message:
        for measure in ("pearson", "spearman"):
            StabilityCV(make(name), cv=SPLITS, measure=measure).fit(X, y)

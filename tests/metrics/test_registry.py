"""Looking measures up, making one's own, and the table."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from skstab import metrics
from skstab.metrics import (
    get_measure,
    measure_table,
    stability_interval,
    stability_score,
)
from skstab.metrics._registry import REGISTRY
from tests.metrics import definitions
from tests.metrics.definitions import parameters_for

Z = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0]])
EVERY = list(measure_table().index)


def data_for(name):
    return Z.argsort(axis=1).argsort(axis=1) + 1 if name == "canberra" else Z


def test_each_measure_has_its_function_and_its_plain_definition():
    functions = {
        name.removesuffix("_stability")
        for name in metrics.__all__
        if name.endswith("_stability")
    }
    assert (
        functions - {"compare", "population", "replication"}
        == set(EVERY)
        == set(REGISTRY)
        == set(definitions.EVERY)
    )


@pytest.mark.parametrize("name", EVERY)
def test_name_measure_and_function_agree(name):
    parameters = parameters_for(name, 4)
    expected = getattr(metrics, f"{name}_stability")(data_for(name), **parameters)
    measure = get_measure(name, **parameters)
    assert (
        measure(data_for(name))
        == stability_score(data_for(name), measure=measure)
        == expected
    )
    assert parameters or stability_score(data_for(name), measure=name) == expected
    assert get_measure(get_measure(name)).name == name


def test_nogueira_is_the_default():
    assert stability_score(Z) == metrics.nogueira_stability(Z)


def test_parameters_reach_the_measure():
    assert get_measure("davis", penalty=0.0)(Z) == metrics.davis_stability(
        Z, penalty=0.0
    )
    groups = [0, 0, 1, 2]
    assert get_measure("effective", groups=groups)(Z) == metrics.effective_stability(
        Z, groups=groups
    )
    joined = 0.5 * np.kron(np.eye(2), np.ones((2, 2)))
    assert get_measure("yu", similarity=joined, threshold=0.5)(
        Z
    ) == metrics.yu_stability(Z, joined, threshold=0.5)
    assert get_measure("yu", similarity=joined, threshold=0.5)(Z) != get_measure("yu")(
        Z
    )
    ranks = data_for("canberra")
    assert get_measure("canberra", location=2)(ranks) == metrics.canberra_stability(
        ranks, location=2
    )
    assert stability_score(
        Z, measure=get_measure("davis", penalty=0.0)
    ) == metrics.davis_stability(Z, penalty=0.0)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda measure: pickle.loads(pickle.dumps(measure))],  # noqa: S301
)
@pytest.mark.parametrize("name", EVERY)
def test_measures_pickle_and_copy(name, copied):
    for measure in (get_measure(name), get_measure(name, **parameters_for(name, 4))):
        assert copied(measure)(data_for(name)) == measure(data_for(name))
    with_penalty = copied(get_measure("davis", penalty=0.25))
    assert with_penalty(Z) == metrics.davis_stability(Z, penalty=0.25)


def union_share(supports):
    """A measure of one's own; at module level, so that it pickles."""
    return float(np.asarray(supports.sum(axis=0) > 0).mean())


def test_a_function_is_a_measure():
    mine = get_measure(union_share, bounds=(0, 1), higher_is_better=False)
    assert mine.name == "union_share"
    assert (mine.kind, mine.bounds, mine.higher_is_better) == ("subset", (0, 1), False)
    assert mine(Z) == stability_score(Z, measure=union_share) == 3 / 4
    assert mine(sparse.csr_array(Z)) == 3 / 4
    assert pickle.loads(pickle.dumps(mine)).bounds == (0, 1)  # noqa: S301
    interval = stability_interval(Z, measure=mine)
    assert (interval.estimate, interval.high) == (3 / 4, pytest.approx(3 / 4))


def test_a_function_sees_validated_data_of_its_kind():
    with pytest.raises(ValueError, match="data must hold only 0/1"):
        stability_score([[1, 2], [3, 4]], measure=union_share)
    total = get_measure(lambda weights: weights.sum(), kind="weights", name="total")
    assert total.name == "total"
    assert stability_score([[1, 2], [3, 4]], measure=total) == 10


@pytest.mark.parametrize(
    "call", [get_measure, lambda name: stability_score(Z, measure=name)]
)
def test_unknown_names_list_the_known_ones(call):
    with pytest.raises(
        ValueError,
        match=r"measure must be one of canberra, cwrel, .*, zucknick; got 'unheard_of'",
    ):
        call("unheard_of")


def test_bad_parameters():
    with pytest.raises(
        TypeError, match=r"measure 'jaccard' does not accept \['penalty'\]"
    ):
        get_measure("jaccard", penalty=1)
    with pytest.raises(
        TypeError, match="measure must be a name or a callable, got int"
    ):
        get_measure(3)


def test_table_lists_each_measure_once_with_its_kind_and_flags():
    table = measure_table()
    assert table.index.is_unique
    assert table.index.name == "name"
    kinds = {"subset": [*definitions.SUBSET, *definitions.ADJUSTED, "effective"]}
    kinds |= {
        "weights": [*definitions.WEIGHTS, "grouped_importance", "transport"],
        "ranking": list(definitions.RANKING),
    }
    assert {
        kind: set(names) for kind, names in table.groupby("kind").groups.items()
    } == {kind: set(names) for kind, names in kinds.items()}
    assert list(table.columns[:4]) == ["kind", "low", "high", "higher_is_better"]
    assert (table.dtypes.iloc[4:] == "boolean").all()
    assert list(table.index[~table["higher_is_better"]]) == ["krizek"]
    best = (
        table["fully_defined"]
        & table["bounded"]
        & table["maximum"]
        & table["chance_corrected"]
    )
    assert list(table.index[best]) == [
        "nogueira",
        "phi",
        "kappa",
        "importance_weighted",
        "spearman",
    ]

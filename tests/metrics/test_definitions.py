"""Every measure of the registry against its plain definition: what is added enters these tests by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skstab.metrics import get_measure, measure_table
from tests.metrics import definitions, strategies
from tests.metrics.definitions import parameters_for

TABLE = measure_table()

pytestmark = [
    pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:no two features:RuntimeWarning"),
]


def tables_for(name, **wanted):
    """Random data of the kind that the measure takes."""
    kind, any_size = TABLE.loc[name, ["kind", "fully_defined"]]
    if kind == "ranking":
        return strategies.rankings(**wanted)
    if kind == "weights":
        return strategies.weights(**wanted)
    return strategies.supports(max_features=5, constant_size=not any_size, **wanted)


def defined(name, data):
    return definitions.EVERY[name](data, **parameters_for(name, data.shape[1]))


def test_there_is_a_definition_of_every_measure_and_of_nothing_else():
    assert set(definitions.EVERY) == set(TABLE.index)


@pytest.mark.parametrize("name", TABLE.index)
@settings(max_examples=30)
@given(draw=st.data())
def test_equals_its_definition(name, draw):
    data = draw.draw(tables_for(name))
    measure = get_measure(name, **parameters_for(name, data.shape[1]))
    assert measure(data) == pytest.approx(defined(name, data), abs=1e-9)


@pytest.mark.parametrize("name", TABLE.index)
@settings(max_examples=30)
@given(draw=st.data())
def test_leave_one_out_equals_leaving_out(name, draw):
    data = draw.draw(tables_for(name, min_runs=3))
    measure = get_measure(name, **parameters_for(name, data.shape[1]))
    parameters = parameters_for(name, data.shape[1])
    expected = [
        definitions.value_without(name, data, run, **parameters)
        for run in range(len(data))
    ]
    np.testing.assert_allclose(
        measure.leave_one_out(measure.check(data)), expected, atol=1e-8
    )

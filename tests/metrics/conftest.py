"""What the tests of all measures share."""

import pytest

from tests.metrics import definitions

FEW = 60


@pytest.fixture(autouse=True, scope="module")
def few_random_pairs(request):
    """A simulated correction for chance is quick, and the same in its definition; its own tests have it whole."""
    if request.module.__name__.endswith(("test_transport", "test_properties")):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skstab.metrics._transport._RANDOM_PAIRS", FEW)
        patch.setattr(definitions, "RANDOM_PAIRS", FEW)
        yield

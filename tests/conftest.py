"""Settings of all tests."""

import os

from hypothesis import settings

# The same examples on every machine, and no clock: a loaded machine is not a wrong result. To search further, run with
# HYPOTHESIS_PROFILE=explore.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

"""Where the parameters of a meta-estimator's `fit` go."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MethodMapping, process_routing

__all__ = ["from_fit", "routed_from_fit"]


def from_fit(callee: str) -> MethodMapping:
    """Map `fit` to a method of a part."""
    # A pipeline of scikit-learn 1.8 asks for what fit_transform takes.
    return (
        MethodMapping()
        .add(caller="fit", callee=callee)
        .add(caller="fit_transform", callee=callee)
    )


def routed_from_fit(router: Any, params: dict[str, Any]) -> Bunch:
    """Send each parameter where it was requested; without routing, `groups` to the splitter, others to `fit`.

    A parameter that is None counts as not passed.
    """
    if get_config()["enable_metadata_routing"]:
        return process_routing(router, "fit", **params)
    fit = {name: value for name, value in params.items() if value is not None}
    split = {"groups": fit.pop("groups")} if "groups" in fit else {}
    return Bunch(
        estimator=Bunch(fit=fit), splitter=Bunch(split=split), scorer=Bunch(score={})
    )

"""The Python that a report shows: it gives the same numbers."""

from __future__ import annotations

import inspect

from sklearn.pipeline import Pipeline

from skstab._cli import _survival
from skstab._cli._code import imports_of, source_of
from skstab._cli._comparing import Plan, first_steps, measure_of_pairs, stratifies
from skstab._cli._selectors import STEP

_NAMES = "BootstrapSplit, ParetoRefit, SelectorComparison, StabilitySearchCV, assess_selector"


def script(plan: Plan, *, several: bool) -> str:
    """Python code from the file to the verdict; `several` selectors are compared by their best settings."""
    return "\n".join(
        [
            *_imports(plan),
            "",
            *plan.data.code,
            *(
                ["classes, y = np.unique(y.to_numpy(dtype=str), return_inverse=True)"]
                if plan.data.is_classification
                else []
            ),
            "",
            *_settings(plan),
            "",
            *_comparing(plan),
            *(_CHOOSING if several else ["chosen = list(table.index)"]),
            *_SHOWING,
            "",
            *_assessing(plan),
            "",
        ]
    )


def _imports(plan: Plan) -> list[str]:
    steps = [step for _, step in first_steps(plan.data)]
    needed = imports_of(
        [*(candidate.base for candidate in plan.tried), *steps, Pipeline([])]
    )
    own = [
        line.replace("import make_pipeline", "import Pipeline, make_pipeline")
        for line in needed
    ]
    lines = [
        *(["from __future__ import annotations", ""] if plan.data.is_survival else []),
        "from copy import deepcopy",
        "from dataclasses import replace",
        "",
        "import numpy as np",
        "import pandas as pd",
        "from sklearn.base import clone",
        *(
            line for line in own if not line.startswith("from skstab import ")
        ),  # models of survival, which follow
        "from skstab.inspection import feature_report",
        f"from skstab.model_selection import {_NAMES}",
    ]
    return [*lines, *(["", *_survival_source()] if plan.data.is_survival else [])]


def _survival_source() -> list[str]:
    """The models of survival, which are part of the command and not of the package."""
    lines = inspect.getsource(_survival).splitlines()
    first = lines.index("from typing import Any, NamedTuple")
    return [
        "# -- models of survival, as skstab report has them",
        "",
        *lines[first:],
        "",
    ]


def _settings(plan: Plan) -> list[str]:
    names = {id(base): name for name, base in _selectors(plan).items()}
    steps = ", ".join(
        f"({name!r}, {source_of(step)})" for name, step in first_steps(plan.data)
    )
    lines = [f"{name} = {source_of(base)}" for name, base in _selectors(plan).items()]
    lines += ["settings = {"]
    for candidate in plan.tried:
        params = ", ".join(
            f'"{STEP}__{name}": [{source_of(value)}]'
            for name, value in candidate.params.items()
        )
        lines.append(
            f'    {candidate.label!r}: {{"{STEP}": [{names[id(candidate.base)]}], {params}}},'
        )
    return [
        *lines,
        "}",
        f'pipeline = Pipeline([{steps}, ("{STEP}", {names[id(plan.tried[0].base)]})])',
    ]


def _selectors(plan: Plan) -> dict[str, object]:
    return {
        candidate.family.replace("-", "_"): candidate.base for candidate in plan.tried
    }


def _comparing(plan: Plan) -> list[str]:
    options = plan.options
    stratify = ", stratify=True" if stratifies(plan.data) else ""
    scoring = "concordance" if plan.data.is_survival else repr(plan.scoring)
    cv = f"BootstrapSplit({options.resamples}{stratify}, random_state={options.seed})"
    groups = ", groups=groups" if plan.data.groups is not None else ""
    return [
        f"common = {{'cv': {cv}, 'scoring': {scoring}, 'random_state': {options.seed}, 'n_jobs': -1}}",
        "search = StabilitySearchCV(",
        f"    pipeline, list(settings.values()), measures=[{options.measure!r}], refit=lambda _: 0, **common",
        f").fit(X, y{groups})",
        f"every = SelectorComparison.from_search(search, X, y, names=list(settings){groups})",
        "table = every.frame().dropna(subset=['score'])",
        'table = table[table["n_features"].between(0, X.shape[1], inclusive="neither")]',
    ]


_CHOOSING = [
    'refit = ParetoRefit("score", "stability", strategy="one_se")',
    'by_selector = table.groupby(table.index.str.partition(" (").get_level_values(0), sort=False)',
    "chosen = [rows.index[refit(rows)] for _, rows in by_selector]",
]
_SHOWING = [
    "comparison = replace(every, runs={name: every.runs[name] for name in chosen})",
    "print(comparison.frame().to_string())",
    "print(comparison.recommend())",
]


def _assessing(plan: Plan) -> list[str]:
    groups = ", groups=groups" if plan.data.groups is not None else ""
    measure = measure_of_pairs(plan.options.measure)
    variables = ", variables=variables" if plan.data.has_categories else ""
    return [
        'first = comparison.recommend().selector or comparison.frame()["score"].idxmax()',
        "params = {name: value for name, (value,) in settings[first].items()}",
        "estimator = clone(pipeline).set_params(**deepcopy(params))",
        f"assessment = assess_selector(estimator, X, y, measure={measure!r}{groups}, **common)",
        *_variables(plan),
        f"features = feature_report(comparison.runs[first], X, y{variables}, assessment=assessment)",
        "print(features.sentence)",
        "print(assessment.reason)",
    ]


def _variables(plan: Plan) -> list[str]:
    """The variable of each column, where categories have several."""
    if not plan.data.has_categories:
        return []
    return [
        "made_of = {name: next((c for c in categories if name.startswith(f'{c}=')), name) for name in X.columns}",
        "variables = list(made_of.values())",
    ]

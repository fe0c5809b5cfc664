"""Collects what each package did and writes docs/compatibility.md, the table of it."""

from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
PACKAGES = [
    *(
        "xgboost",
        "lightgbm",
        "catboost",
        "skglm",
        "celer",
        "group-lasso",
        "boruta",
        "mlxtend",
        "skrebate",
    ),
    *(
        "feature-engine",
        "imbalanced-learn",
        "scikit-survival",
        "skrub",
        "category_encoders",
        "shap",
        "optuna",
    ),
    *("polars", "mlflow", "abess", "fastcan", "tsfresh", "ITMO_FS", "lifelines"),
    *("interpret-core", "gplearn", "imodels", "powershap"),
]
HEAD = """# Compatibility

`StabilityCV` and the functions around it read selectors of other packages. This table is written by
`make test-thirdparty`, which installs the newest versions that install together and compares, for each entry, the
supports and importances of the runs with a loop written by hand. None of these packages is a dependency.

How objects are read that are not listed is described in [](importances.md);
{func}`~skstab.runs.register_reader` adds one.

| Package | Version | Result | Compared | Remarks |
| --- | --- | --- | --- | --- |
"""


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "package(name, what, remark, theirs): what of a package a test compares",
    )
    config.outcomes = defaultdict(list)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    mark = item.get_closest_marker("package")
    if mark is not None and (report.when == "call" or report.outcome != "passed"):
        item.config.outcomes[mark.args[0]].append(
            (mark.args[1], report.outcome, mark.kwargs)
        )


def _row(package, outcomes):
    try:
        found = version(package)
    except PackageNotFoundError:
        return f"| {package} | – | not installed | | could not be installed together with the others |"
    passed = [
        what
        for what, outcome, options in outcomes
        if outcome == "passed" and not options.get("theirs")
    ]
    theirs = [
        (what, options) for what, outcome, options in outcomes if options.get("theirs")
    ]
    failed = [
        what
        for what, outcome, options in outcomes
        if outcome != "passed" and not options.get("theirs")
    ]
    result = "fails" if not passed else "partly" if failed or theirs else "works"
    remarks = [options["remark"] for _, _, options in outcomes if options.get("remark")]
    remarks += [f"{what}: fails" for what in failed]
    cells = (
        package,
        found,
        result,
        ", ".join(dict.fromkeys(passed)),
        "; ".join(dict.fromkeys(remarks)),
    )
    return f"| {' | '.join(cells)} |"


def pytest_sessionfinish(session):
    outcomes = session.config.outcomes
    if not set(PACKAGES) <= outcomes.keys():  # only a part was run
        return
    core = ", ".join(
        f"{name} {version(name)}"
        for name in ("scikit-learn", "numpy", "scipy", "pandas", "joblib")
    )
    rows = "\n".join(_row(package, outcomes[package]) for package in PACKAGES)
    PAGE.write_text(f"{HEAD}{rows}\n\nWith {core}.\n")

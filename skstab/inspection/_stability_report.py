"""A comparison of selectors as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sklearn

import skstab
from skstab.inspection._comparison_display import StabilityComparisonDisplay
from skstab.inspection._pareto_display import ParetoFrontDisplay
from skstab.inspection._sources import most_frequent
from skstab.inspection._stability_map import FeatureStabilityMapDisplay
from skstab.metrics import get_measure
from skstab.model_selection import Recommendation

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import SelectorAssessment, SelectorComparison, StabilityCV
    from skstab.runs import Runs

N_FIRST = 40  # features that are shown at once; the others are collapsed
_MOST_PAIRS = 15
_PATH = re.compile(r'<path (?:id="\w+" )?d="[^"]*"')
_DECIMALS = re.compile(r"(?<=\.\d)\d+")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SVG_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # the browser has fonts for all scripts
    "svg.hashsalt": "skstab",
    "font.family": "sans-serif",
    "savefig.facecolor": "white",
}


# -- the parts of a page -----------------------------------------------------------------------------------------------


class Picture(NamedTuple):
    """A picture: its data URI, its alternative text, and its caption."""

    source: str
    alt: str
    caption: str


class Cell(NamedTuple):
    """A cell: its text, the number to sort by, and the share of a bar behind it."""

    text: str
    value: float | None = None
    share: float | None = None


class Column(NamedTuple):
    """The head of a column."""

    name: str
    is_number: bool = True


class SortableTable(NamedTuple):
    """A table that can be sorted; the first cell of each row names it."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]]


def number(value: Any, digits: int = 2) -> Cell:
    """Cell of a number; empty where it is missing."""
    return Cell(f"{value:.{digits}f}", float(value)) if np.isfinite(value) else Cell("–")


def share(value: float) -> Cell:
    """Cell of a share with a bar."""
    return Cell(f"{value:.2f}", float(value), float(value))


def between(low: Any, high: Any, digits: int = 2) -> Cell:
    """Cell of an interval, sorted by its lower end."""
    return Cell(f"{low:.{digits}f} to {high:.{digits}f}", float(low)) if np.isfinite(low) else Cell("–")


def draw(display: Any, alt: str, caption: str, **options: Any) -> Picture:
    """Draw a display into a data URI: inside an image its content cannot interfere with the page."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    stream = io.StringIO()
    with mpl.rc_context(_SVG_STYLE), warnings.catch_warnings():
        # About glyphs that matplotlib's own fonts lack, which affects only the estimated width of a letter.
        warnings.simplefilter("ignore")
        figure = display.plot(**options).figure_
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(_compact(stream.getvalue())).decode()}", alt, caption)


def _compact(svg: str) -> bytes:
    """Encode a drawing with one decimal per coordinate, and without characters that XML does not allow in a name."""
    svg = _PATH.sub(lambda path: " ".join(_DECIMALS.sub("", path[0]).split()), _NOT_XML.sub("\ufffd", svg))
    return svg.encode("utf-8", errors="replace")


# -- the page ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StabilityReport:
    """A comparison of selectors with its front, maps, features and code, ready to be written as HTML.

    Parameters
    ----------
    title : str
        Title of the page.
    comparison : SelectorComparison
        The selectors that the page compares.
    candidates : DataFrame
        All settings that were tried, with the columns of `comparison.frame()`.
    scoring : str
        Name of the score.
    code : str
        Python code that gives the same numbers.
    facts : dict of str, default=None
        What was run, by heading.
    notes : sequence of str, default=()
        Sentences about the data and the runs.
    variables : dict of str, default=None
        For each feature the variable that it was made from; None where every feature is a variable.
    alerts : sequence of str, default=()
        Sentences about what may mislead, shown before everything else that is recommended.
    assessment : SelectorAssessment, default=None
        What other data would say about `first_selector`; its verdict is the first sentence of the page. Where it is
        "no signal", no selector is recommended.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from skstab.inspection import StabilityReport
    >>> from skstab.model_selection import BootstrapSplit, compare_selectors
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selectors = {f"best {k}": make_pipeline(SelectKBest(k=k), GaussianNB()) for k in (1, 2)}
    >>> found = compare_selectors(selectors, X, y, cv=BootstrapSplit(10, random_state=0))
    >>> report = StabilityReport("Iris", found, found.frame(), "accuracy", code="")
    >>> report
    StabilityReport('Iris', 2 selectors, 2 candidates)

    With the extra `report`, `report.html()` is the page.
    """

    title: str
    comparison: SelectorComparison
    candidates: pd.DataFrame
    scoring: str
    code: str
    _: KW_ONLY
    facts: Mapping[str, str] | None = None
    notes: Sequence[str] = ()
    variables: Mapping[str, str] | None = None
    alerts: Sequence[str] = ()
    assessment: SelectorAssessment | None = None

    def __repr__(self) -> str:
        sizes = f"{len(self.comparison.runs)} selectors, {len(self.candidates)} candidates"
        return f"StabilityReport({self.title!r}, {sizes})"

    @cached_property
    def recommendation(self) -> Recommendation:
        """The recommended selector, or None, and why."""
        found = self.comparison.recommend()
        if found.selector is None or self.assessment is None or self.assessment.verdict != "no signal":
            return found
        return Recommendation(
            None,
            f"No selector is recommended: {found.selector} would be by its score and stability, but the verdict on it "
            "is that there is no signal.",
        )

    @cached_property
    def first_selector(self) -> str:
        """The selector that is assessed and shown first: the one of the comparison, or else the best by score."""
        return self.comparison.recommend().selector or str(self.frame["score"].idxmax())

    @property
    def doubt(self) -> str | None:
        """What speaks against a verdict of signal: that nothing was shown to predict better than a constant guess."""
        if (
            self.assessment is None
            or self.assessment.verdict == "no signal"
            or self.recommendation.selector is not None
        ):
            return None
        return (
            "But no selector was shown to predict better than a guess that ignores the features: signal is not shown."
        )

    def html(self) -> str:
        """Render the page."""
        from jinja2 import Environment, StrictUndefined

        environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        folder = resources.files("skstab.inspection")
        script = (folder / "report.js").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        return environment.from_string((folder / "report.html.j2").read_text(encoding="utf-8")).render(
            report=self,
            style=(folder / "report.css").read_text(encoding="utf-8"),
            script=script,
            script_digest=digest,
            versions=f"skstab {skstab.__version__}, scikit-learn {sklearn.__version__}",
        )

    # -- selectors -----------------------------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The compared selectors, the most stable first."""
        return self.comparison.frame().sort_values("stability", ascending=False, kind="stable")

    @property
    def measure(self) -> str:
        """Name of the measure of stability."""
        return get_measure(self.comparison.measure).name

    @property
    def selectors(self) -> SortableTable:
        """Compared selectors."""
        table = selector_table("Selectors, the most stable first", self.frame, self.scoring)
        if self.variables is None:
            return table
        table.columns.insert(4, Column("Stability of variables (nogueira, 95% interval, resampling error)"))
        for row, name in zip(table.rows, self.frame.index, strict=True):
            found = self._runs_of_variables[name].interval()
            ends = f"{found.low:.2f} to {found.high:.2f}"
            row.insert(4, Cell(f"{found.estimate:.2f} ({ends})", found.estimate))
        return table

    @property
    def settings(self) -> SortableTable:
        """All settings that were tried."""
        return selector_table("All settings that were tried", self.candidates, self.scoring)

    @property
    def forest(self) -> Picture:
        """Stabilities and their differences."""
        n = len(self.frame)
        reference = self.first_selector if n * (n - 1) / 2 > _MOST_PAIRS else None
        display = StabilityComparisonDisplay.from_comparison(self.comparison, reference=reference)
        values = "; ".join(f"{name} {row.stability:.2f}" for name, row in self.frame.iterrows())
        return draw(
            display,
            f"Forest plot of stabilities: {values}. The table has the numbers.",
            "Stability of each selector with its 95% interval (resampling error) and, below the line, paired "
            "differences; a filled diamond is a difference that is significant at 5% after adjustment.",
        )

    @property
    def front(self) -> Picture:
        """Score and stability of all settings."""
        names = {"score": self.scoring, "score_se": f"{self.scoring}_se", "n_features": "n_features"}
        names |= {f"stability{end}": f"{self.measure}{end}" for end in ("", "_low", "_high")}
        table = self.candidates[list(names)].rename(columns=names)
        recommended = np.flatnonzero(self.candidates.index == self.recommendation.selector)
        chosen = int(recommended[0]) if len(recommended) else None
        display = ParetoFrontDisplay.from_results(table, self.scoring, self.measure, chosen=chosen)
        front = self.candidates.index[display.frame()["on_front"].to_numpy()]
        return draw(
            display,
            f"Scatter plot of {self.scoring} and stability of {len(table)} settings. On the front: {', '.join(front)}.",
            "Every setting by score (95% interval: other data) and stability (resampling error). No setting is better "
            "in both than one on the "
            f"front; {'the star is what this report recommends, ' if chosen is not None else ''}the outlines are what "
            "other rules would choose.",
        )

    @property
    def maps(self) -> list[Picture]:
        """Maps of the selectors that select something; a feature has the same colour in all of them."""
        like = None
        displays = {}
        for name in self.frame.index[self.frame["n_features"] > 0]:
            displays[name] = like = FeatureStabilityMapDisplay.from_estimator(self.comparison.runs[name], like=like)
        return [
            draw(
                displays[name],
                f"Feature stability map of {name}: stability {row.stability:.2f}, {row.n_features:.1f} features on "
                f"average. Most frequent: {', '.join(self._top(self.comparison.runs[name]))}.",
                f"{name}: one row per resample, one colour per feature, as wide as its share of the importances.",
            )
            for name, row in self.frame.loc[list(displays)].iterrows()
        ]

    def _top(self, runs: StabilityCV, n: int = 5) -> list[str]:
        return list(runs.summary()["frequency"].nlargest(n).index)

    # -- features ------------------------------------------------------------------------------------------------------

    @cached_property
    def _frequencies(self) -> pd.DataFrame:
        """Share of the runs of each selector that selected each feature, the recommended one first."""
        import pandas as pd

        first = self.first_selector
        names = [first, *(name for name in self.frame.index if name != first)]
        return pd.DataFrame({name: self.comparison.runs[name].summary()["frequency"] for name in names})

    @cached_property
    def features(self) -> SortableTable:
        """Features that some run selected, the most frequent ones of the recommended selector first."""
        frequencies = self._frequencies
        summary = self.comparison.runs[self.first_selector].summary()
        order = most_frequent(frequencies.iloc[:, 0], frequencies.mean(axis=1))
        order = order[frequencies.to_numpy()[order].max(axis=1) > 0]
        columns = [Column("Feature", is_number=False), *map(Column, frequencies.columns)]
        details = [name for name in ("importance_mean", "sign_consistency") if name in summary]
        columns[2:2] = [
            Column("95% interval (resampling error)"),
            *(Column(_DETAILS[name]) for name in details),
            Column("Selected", False),
        ]
        rows = []
        for position in order:
            row, shares = summary.iloc[position], [share(value) for value in frequencies.iloc[position]]
            about = [between(row["frequency_low"], row["frequency_high"]), *(number(row[name]) for name in details)]
            chosen = Cell("yes" if row["selected"] else "no")
            rows.append([Cell(str(frequencies.index[position])), shares[0], *about, chosen, *shares[1:]])
        return SortableTable("How often features were selected", columns, rows)

    @property
    def n_never_selected(self) -> int:
        """Number of features that no run selected."""
        return len(self._frequencies) - len(self.features.rows)

    @property
    def first_features(self) -> SortableTable:
        """Most frequent features."""
        return self.features._replace(rows=self.features.rows[:N_FIRST])

    @property
    def other_features(self) -> SortableTable | None:
        """All further ones, if any."""
        rest = self.features.rows[N_FIRST:]
        return self.features._replace(caption="The features that follow", rows=rest) if rest else None

    # -- variables -----------------------------------------------------------------------------------------------------

    @cached_property
    def _runs_of_variables(self) -> dict[str, Runs]:
        """For each selector, which runs selected any column of each variable."""
        codes, _ = self._variable_codes
        return {name: runs.runs_.grouped(codes) for name, runs in self.comparison.runs.items()}

    @cached_property
    def _variable_codes(self) -> tuple[np.ndarray, Any]:
        import pandas as pd

        codes, names = pd.factorize(pd.Index([(self.variables or {})[name] for name in self._frequencies.index]))
        return codes, names

    @property
    def categories(self) -> SortableTable | None:
        """Variables of several columns: how often at least one of these was selected."""
        if self.variables is None:
            return None
        codes, names = self._variable_codes
        sizes = np.bincount(codes)
        order = list(self._frequencies.columns)
        columns = [Column("Variable", is_number=False), Column("Columns"), *map(Column, order)]
        rows = [
            [
                Cell(str(names[i])),
                number(sizes[i], 0),
                *(share(self._runs_of_variables[name].frequencies().iloc[i]) for name in order),
            ]
            for i in np.flatnonzero(sizes > 1)
        ]
        return SortableTable("Categories: share of runs that selected at least one of their columns", columns, rows)


_DETAILS = {"importance_mean": "Mean importance", "sign_consistency": "Sign consistency"}


def selector_table(caption: str, frame: pd.DataFrame, scoring: str) -> SortableTable:
    """Tabulate selectors, with all columns that are known."""
    columns = [name for name in _SELECTOR_COLUMNS if name in frame]
    heads = [Column(_SELECTOR_COLUMNS[name].replace("Score", f"Score ({scoring})")) for name in columns]
    rows = [
        [
            Cell(str(name)),
            *(_selector_cell(row, column) for column in columns),
            Cell("yes" if row["on_front"] else "no"),
        ]
        for name, row in frame.iterrows()
    ]
    return SortableTable(caption, [Column("Selector", False), *heads, Column("On the front", False)], rows)


_SELECTOR_COLUMNS = {
    "score": "Score",
    "stability": "Stability",
    "stability_low": "95% interval (resampling error)",
    "n_features": "Features",
    "fit_time": "Milliseconds per fit",
    "n_failed": "Failed runs",
}


def _selector_cell(row: pd.Series, column: str) -> Cell:
    if column == "score":
        return Cell(f"{row['score']:.3f} ± {row['score_se']:.3f}", float(row["score"]))
    if column == "stability_low":
        return between(row["stability_low"], row["stability_high"])
    scale, digits = {"fit_time": (1000, 1), "n_features": (1, 1), "n_failed": (1, 0)}.get(column, (1, 2))
    return number(scale * row[column], digits)

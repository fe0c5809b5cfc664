"""A comparison of selectors as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from html import escape
from importlib import resources
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn

import skstab
from skstab._checks import naming
from skstab.inspection._evidence_display import FeatureEvidenceDisplay
from skstab.inspection._methods_text import methods_text
from skstab.inspection._page_parts import (
    Cell,
    Column,
    Picture,
    SortableTable,
    between,
    draw,
    number,
    plural,
    share,
)
from skstab.inspection._pareto_display import ParetoFrontDisplay
from skstab.inspection._published import (
    in_words,
    near_table,
    published_table,
    substitute_table,
    turns,
)
from skstab.inspection._sources import most_frequent
from skstab.inspection._verdict import Shared, headline, numbers
from skstab.model_selection import Recommendation

if TYPE_CHECKING:
    import pandas as pd

    from skstab.inspection._feature_report import FeatureReport
    from skstab.model_selection import SelectorAssessment, SelectorComparison
    from skstab.runs import Runs

N_FIRST = 40  # features that are shown at once; the others are collapsed
N_MOST = 1000  # features that are listed at all, so that a page stays small


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
    feature_report : FeatureReport, default=None
        What to publish of `first_selector`, made by :func:`feature_report`.
    about : dict of str, default=None
        What each kind of selector does, by the name that the names of its settings begin with.
    direction : str, default=None
        What a positive weight of a feature speaks for, such as "outcome = ill"; None where weights have no direction.
    chosen : Recommendation, default=None
        The selector that is recommended, and why; None takes what `comparison` recommends.

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

    With the extra `report`, `report.html()` is the page, `report.save(path)` writes it, and a notebook shows it.
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
    feature_report: FeatureReport | None = None
    about: Mapping[str, str] | None = None
    direction: str | None = None
    chosen: Recommendation | None = None

    def __repr__(self) -> str:
        sizes = (
            f"{len(self.comparison.runs)} selectors, {len(self.candidates)} candidates"
        )
        return f"StabilityReport({self.title!r}, {sizes})"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, whose style and script do not touch the notebook."""
        style = "width: 100%; height: 40rem; border: 1px solid #888"
        about = f'sandbox="allow-scripts" title="{escape(self.title)}" style="{style}"'
        return f'<iframe {about} srcdoc="{escape(self.html())}"></iframe>'

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced where it exists.
        """
        with naming("path"):
            name = os.fspath(path)
        page = self.html()
        with open(
            name, "w", encoding="utf-8", errors="replace"
        ) as file:  # a Path of "" would be the current directory
            file.write(page)

    # -- the answers ---------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str | None:
        """Whether there is signal, and how many features two samples share, in one sentence."""
        return (
            None
            if self.assessment is None
            else headline(
                self.assessment,
                self._shared,
                noun=self.noun,
                is_shown=self.doubt is None,
            )
        )

    @property
    def reason(self) -> str:
        """The numbers behind the verdict: the score and the stability on other data."""
        return "" if self.assessment is None else numbers(self.assessment, self.scoring)

    @property
    def _shared(self) -> Shared | None:
        """What two halves of the rows have in common."""
        found = self.assessment
        if found is None or found.has_empty_halves or found.has_no_choice:
            return None
        halves = found.halves
        if self.variables is not None:
            halves = halves.grouped(self._variable_codes[0])
        return Shared.of(halves, int(found.curve.index[-1]))

    def answers(self) -> list[str]:
        """The answers in short: the verdict with its numbers, the features to publish, the recommendation.

        Returns
        -------
        answers : list of str
            One text for each that is known.
        """
        verdict = (
            [" ".join(filter(None, (self.verdict, self.reason, self.doubt)))]
            if self.assessment is not None
            else []
        )
        features = (
            [f"Features to publish: {self.publication}"]
            if self.feature_report is not None
            else []
        )
        return [*verdict, *features, str(self.recommendation)]

    @cached_property
    def recommendation(self) -> Recommendation:
        """The recommended selector, or None, and why."""
        found = self._chosen
        if (
            found.selector is None
            or self.assessment is None
            or self.assessment.verdict != "no signal"
        ):
            return found
        return Recommendation(
            None,
            f"No selector is recommended: {found.selector} would be by its score and stability, but the verdict on it "
            "is that there is no signal.",
        )

    @cached_property
    def first_selector(self) -> str:
        """The selector that is assessed and shown first: the one of the comparison, or else the best by score."""
        return self._chosen.selector or str(self.frame["score"].idxmax())

    @property
    def _chosen(self) -> Recommendation:
        return self.comparison.recommend() if self.chosen is None else self.chosen

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
            "But no selector was shown to predict better than a guess that ignores the features: "
            "signal is not shown."
        )

    def methods(self) -> str:
        """Write the paragraph for a paper: how this was made.

        Returns
        -------
        text : str
            The paragraph, and after an empty line its references as BibTeX.
        """
        return methods_text(self)

    def to_latex(self) -> str:
        """Write the features to publish as a table for a paper.

        Returns
        -------
        text : str
            A `table` environment with a caption that says what the numbers are; no rows where nothing is published.
        """
        found = self._known_report
        if not self.is_published:
            nothing = f"Features to publish: {self.publication}"
            found = replace(found, table=found.table.iloc[:0], sentence=nothing)
        return found.to_latex()

    def html(self) -> str:
        """Render the page."""
        from jinja2 import Environment, StrictUndefined

        environment = Environment(
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        folder = resources.files("skstab.inspection")
        script = (folder / "report.js").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        return environment.from_string(
            (folder / "report.html.j2").read_text(encoding="utf-8")
        ).render(
            report=self,
            style=(folder / "report.css").read_text(encoding="utf-8"),
            script=script,
            script_digest=digest,
            versions=f"skstab {skstab.__version__}, scikit-learn {sklearn.__version__}",
        )

    # -- features to publish -------------------------------------------------------------------------------------------

    @property
    def publication(self) -> str:
        """Which features to publish, or why none."""
        if self.assessment is not None and self.assessment.verdict == "no signal":
            return "none, since there is no signal."
        if self.doubt is not None:
            return "none yet, since signal is not shown."
        return (
            ""
            if self.feature_report is None
            else in_words(self.feature_report, self.noun)
        )

    @property
    def is_published(self) -> bool:
        """Whether there is a list of features to publish."""
        has_signal = self.assessment is None or self.assessment.verdict != "no signal"
        return has_signal and self.doubt is None and self.published is not None

    @cached_property
    def published(self) -> SortableTable | None:
        """The features to publish."""
        found = self.feature_report
        return (
            None if found is None else published_table(found, self.direction, self.noun)
        )

    @property
    def noun(self) -> str:
        """What is selected, in a word."""
        return "feature" if self.variables is None else "variable"

    @property
    def _known_report(self) -> FeatureReport:
        if self.feature_report is None:
            raise AttributeError("this needs a StabilityReport with a feature_report")
        return self.feature_report

    @cached_property
    def evidence(self) -> Picture:
        """What to publish, by how often halves select it and its decoys."""
        display = FeatureEvidenceDisplay.from_report(self._known_report)
        table = display.frame()
        shares = "; ".join(
            f"{row.feature} {row.share:.0%}" for row in table.head(20).itertuples()
        )
        return draw(
            display,
            f"Dot plot of the share of the {display.runs} that select each {self.noun}: {shares}.",
            self._about_evidence(table, display.runs),
            labels={"ylabel": ""},
            fits_narrow=True,
        )

    def _about_evidence(self, table: pd.DataFrame, runs: str) -> str:
        """What the marks of the picture are."""
        half = " (samples of half the rows)" if runs == "halves" else ""
        said = [f"● share of the {runs}{half} that select it"]
        if table["substitutes"].map(len).any():
            said[0] += ", or what stands for it (in grey)"
        if table["decoy"].notna().any():
            said.append("○ the same of its decoy, a copy with the rows in random order")
        towards = self.direction or self._known_report.towards
        known = {"+", "-"} & set(table["direction"])
        if known:
            arrows = [
                words
                for sign, words in (("+", "▲ higher"), ("-", "▼ lower"))
                if sign in known
            ]
            said.append(f"{' or '.join(arrows)} values go with {towards}")
        return "; ".join(said) + "."

    @property
    def about_published(self) -> str:
        """What the table of features means beyond its heads, in a few words."""
        found, said = self.feature_report, []
        if found is not None and any(found.substitutes().values()):
            said.append(
                "Nearly the same values (correlation of at least 0.9): a selector takes one or the other; publish them "
                "together."
            )
        if found is not None and "direction" in found.core:
            said.append("Alone: by rank correlation, without regard to the others.")
        return " ".join(said)

    @property
    def near(self) -> SortableTable | None:
        """Features that were left out, the most frequent first."""
        return None if self.feature_report is None else near_table(self.feature_report)

    @property
    def substitutes(self) -> SortableTable | None:
        """Features that can stand for those to publish."""
        return (
            None
            if self.feature_report is None
            else substitute_table(self.feature_report)
        )

    @cached_property
    def turns(self) -> list[str]:
        """Pairs of features of which runs select one or the other."""
        return turns(self._first_runs)

    @property
    def longer(self) -> str:
        """Whose list it is, and what a longer one would buy."""
        first, table = self.first_selector, self.candidates
        own = table.loc[first]
        said = f"The list is that of {first}"
        better = table[table["score"] > own["score"]]
        better = better[better["n_features"].round() > round(own["n_features"])]
        if better.empty:
            return f"{said}; no longer list scored better."
        best = better.loc[better["score"].idxmax()]
        return (
            f"{said}. A longer one, {best['n_features']:.0f} {self.noun_of_columns}s of {best.name}, scores "
            f"{best['score']:.3f} instead of {own['score']:.3f}."
        )

    @property
    def noun_of_columns(self) -> str:
        """What selectors select, in a word."""
        return "feature" if self.variables is None else "column"

    @property
    def _first_runs(self) -> Runs:
        return self.comparison.runs_by_name[self.first_selector]

    # -- selectors -----------------------------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The compared selectors, the most stable first."""
        return self.comparison.frame().sort_values(
            "stability", ascending=False, kind="stable"
        )

    @property
    def selectors(self) -> SortableTable:
        """Compared selectors."""
        table = selector_table(
            "Selectors, the most stable first", self.frame, self.scoring
        )
        shared = self.comparison.shared_features().loc[self.first_selector]
        table.columns.append(Column(f"Of these also selected by {self.first_selector}"))
        for row, name in zip(table.rows, self.frame.index, strict=True):
            row.append(number(shared[name], 1))
        return table

    @property
    def settings(self) -> SortableTable:
        """All settings that were tried."""
        return selector_table(
            "All settings that were tried", self.candidates, self.scoring
        )

    @cached_property
    def front(self) -> Picture:
        """Score and stability of all settings."""
        names = {
            "score": self.scoring,
            "score_se": f"{self.scoring}_se",
            "n_features": "n_features",
        }
        names |= {f"stability{end}": f"stability{end}" for end in ("", "_low", "_high")}
        table = self.candidates[list(names)].rename(columns=names)
        recommended = np.flatnonzero(
            self.candidates.index == self.recommendation.selector
        )
        chosen = int(recommended[0]) if len(recommended) else None
        display = ParetoFrontDisplay.from_results(
            table, self.scoring, "stability", chosen=chosen
        )
        front = self.candidates.index[display.frame()["on_front"].to_numpy()]
        return draw(
            display,
            f"Scatter plot of {self.scoring} and stability of {plural(len(table), 'setting')}. On the front: "
            f"{', '.join(front)}.",
            f"Every setting by {self.scoring} (95% interval: other data) and stability (resampling error). No setting "
            f"is better in both than one on the front; "
            f"{'the star is what this report recommends; ' if chosen is not None else ''}the outlines "
            "are what common rules of choice would take: the bend of the front (knee), equal weights for both "
            "(weighted), and the most stable one within a standard error of the best score (one_se).",
            labels={"ylabel": "stability"},
        )

    # -- features ------------------------------------------------------------------------------------------------------

    @cached_property
    def _frequencies(self) -> pd.DataFrame:
        """Share of the runs of each selector that selected each feature, the recommended one first."""
        import pandas as pd

        first = self.first_selector
        names = [first, *(name for name in self.frame.index if name != first)]
        return pd.DataFrame(
            {name: self.comparison.runs_by_name[name].frequencies() for name in names}
        )

    @property
    def features(self) -> pd.DataFrame:
        """What to publish, as a table of :func:`feature_report`; empty where nothing is."""
        core = self._known_report.core
        return core if self.is_published else core.iloc[:0]

    @cached_property
    def all_features(self) -> SortableTable:
        """Features that some run selected, the most frequent ones of the recommended selector first."""
        frequencies = self._frequencies
        summary = self._first_runs.summary()
        refit = self._first_runs.refit
        order = most_frequent(frequencies.iloc[:, 0], frequencies.mean(axis=1))
        order = order[frequencies.to_numpy()[order].max(axis=1) > 0][:N_MOST]
        columns = [
            Column("Feature", is_number=False),
            *map(Column, frequencies.columns),
        ]
        details = [
            name for name in ("importance_mean", "sign_consistency") if name in summary
        ]
        columns[2:2] = [
            Column("95% interval (resampling error)"),
            *(Column(_DETAILS[name]) for name in details),
            *([] if refit is None else [Column("Selected on all rows", False)]),
        ]
        rows = []
        for position in order:
            row, shares = (
                summary.iloc[position],
                [share(value) for value in frequencies.iloc[position]],
            )
            about = [
                between(row["frequency_low"], row["frequency_high"]),
                *(number(row[name]) for name in details),
            ]
            chosen = [] if refit is None else [Cell("yes" if refit[position] else "no")]
            rows.append(
                [
                    Cell(str(frequencies.index[position])),
                    shares[0],
                    *about,
                    *chosen,
                    *shares[1:],
                ]
            )
        return SortableTable("How often features were selected", columns, rows)

    @property
    def n_never_selected(self) -> int:
        """Number of features that no run selected."""
        return int((self._frequencies.max(axis=1) == 0).sum())

    @property
    def n_not_listed(self) -> int:
        """Number of rare features that are not listed."""
        return (
            len(self._frequencies) - self.n_never_selected - len(self.all_features.rows)
        )

    @property
    def first_features(self) -> SortableTable:
        """Most frequent features."""
        return self.all_features._replace(rows=self.all_features.rows[:N_FIRST])

    @property
    def other_features(self) -> SortableTable | None:
        """All further ones, if any."""
        rest = self.all_features.rows[N_FIRST:]
        return (
            self.all_features._replace(caption="The features that follow", rows=rest)
            if rest
            else None
        )

    # -- variables -----------------------------------------------------------------------------------------------------

    @cached_property
    def _runs_of_variables(self) -> dict[str, Runs]:
        """For each selector, which runs selected any column of each variable."""
        codes, _ = self._variable_codes
        return {
            name: runs.grouped(codes)
            for name, runs in self.comparison.runs_by_name.items()
        }

    @cached_property
    def _variable_codes(self) -> tuple[np.ndarray, Any]:
        import pandas as pd

        codes, names = pd.factorize(
            pd.Index([(self.variables or {})[name] for name in self._frequencies.index])
        )
        return codes, names

    @property
    def categories(self) -> SortableTable | None:
        """Variables of several columns: how often at least one of these was selected."""
        if self.variables is None:
            return None
        codes, names = self._variable_codes
        sizes = np.bincount(codes)
        order = list(self._frequencies.columns)
        columns = [
            Column("Variable", is_number=False),
            Column("Columns"),
            *map(Column, order),
        ]
        rows = [
            [
                Cell(str(names[i])),
                number(sizes[i], 0),
                *(
                    share(self._runs_of_variables[name].frequencies().iloc[i])
                    for name in order
                ),
            ]
            for i in np.flatnonzero(sizes > 1)
        ]
        return SortableTable(
            "Categories: share of runs that selected at least one of their columns",
            columns,
            rows,
        )


_DETAILS = {
    "importance_mean": "Mean importance",
    "sign_consistency": "Share of the more common sign",
}


def selector_table(caption: str, frame: pd.DataFrame, scoring: str) -> SortableTable:
    """Tabulate selectors with their score, their stability and the length of their lists."""
    columns = {
        f"{scoring[:1].upper()}{scoring[1:]}": [
            _score(row) for _, row in frame.iterrows()
        ]
    }
    if "replication" in frame:
        columns["Stability on other data"] = [
            _replication(row) for _, row in frame.iterrows()
        ]
    columns["Stability in resamples"] = [number(value) for value in frame["stability"]]
    columns["Features on average"] = [number(value, 1) for value in frame["n_features"]]
    heads = [Column("Selector", False), *map(Column, columns)]
    cells = zip(*columns.values(), strict=True)
    rows = [
        [Cell(str(name)), *row] for name, row in zip(frame.index, cells, strict=True)
    ]
    return SortableTable(caption, heads, rows)


def _score(row: pd.Series) -> Cell:
    return Cell(f"{row['score']:.3f} ± {row['score_se']:.3f}", float(row["score"]))


def _replication(row: pd.Series) -> Cell:
    estimate, low, high = row[["replication", "replication_low", "replication_high"]]
    if not np.isfinite(estimate):
        return Cell("–")
    return Cell(f"{estimate:.2f} ({low:.2f} to {high:.2f})", float(estimate))

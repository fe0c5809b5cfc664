"""What runs selected: reading a fitted estimator, and `Runs`, the value that everything else takes."""

from skstab.runs._collect import collect_supports
from skstab.runs._columns import input_columns
from skstab.runs._outputs import Outputs
from skstab.runs._packed import Reading, Selection
from skstab.runs._readers import (
    CoefPath,
    coef_path_of,
    reading_with,
    register_reader,
    registered_readers,
)
from skstab.runs._runs import Runs
from skstab.runs._selection import read_emptied, read_run, selection_of, why_no_support
from skstab.runs._view import reading_same_rows

__all__ = [
    "CoefPath",
    "Outputs",
    "Reading",
    "Runs",
    "Selection",
    "coef_path_of",
    "collect_supports",
    "input_columns",
    "read_emptied",
    "read_run",
    "reading_same_rows",
    "reading_with",
    "register_reader",
    "registered_readers",
    "selection_of",
    "why_no_support",
]

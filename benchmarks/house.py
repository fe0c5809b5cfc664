"""What the package weighs and how dense it is: the figures of the house, counted from the source.

A code token is what Python's own tokenizer yields, without comments, docstrings and the signs of layout.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def docstring_lines(tree: ast.Module) -> set[int]:
    """First lines of all docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, owners)
            and ast.get_docstring(node, clean=False) is not None
        ):
            lines.add(node.body[0].lineno)
    return lines


def tokens_by_line(source: str) -> Counter[int]:
    """Number of code tokens on each line that has any."""
    documented = docstring_lines(ast.parse(source))
    counts: Counter[int] = Counter()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_docstring = token.type == tokenize.STRING and token.start[0] in documented
        if token.type not in LAYOUT and not is_docstring:
            counts[token.start[0]] += 1
    return counts


def has_nested_choice(node: ast.AST) -> bool:
    """Whether a conditional expression holds another one."""
    return isinstance(node, ast.IfExp) and any(
        isinstance(inner, ast.IfExp) for inner in ast.walk(node) if inner is not node
    )


def short_helpers(trees: list[ast.Module]) -> int:
    """Private functions of fewer than five lines that are named once outside their definition."""
    named: Counter[str] = Counter()
    defined: dict[str, int] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                named[node.id] += 1
            elif isinstance(node, ast.Attribute):
                named[node.attr] += 1
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                if not node.name.startswith("__"):
                    defined[node.name] = length
    return sum(length < 5 and named[name] == 1 for name, length in defined.items())


def names_defined_twice(trees: list[ast.Module]) -> int:
    """Definitions at the top of a module that share their name with one of another module."""
    places = defaultdict(set)
    for number, tree in enumerate(trees):
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                places[node.name].add(number)
    return sum(len(modules) for modules in places.values() if len(modules) > 1)


def passed_by_a_fit() -> tuple[int, int]:
    """Functions of the package that `StabilityCV(Lasso(0.1), cv=5).fit` passes, and their files."""
    from sklearn.datasets import make_regression
    from sklearn.linear_model import Lasso

    from skstab import StabilityCV

    X, y = make_regression(100, 20, n_informative=3, noise=5.0, random_state=0)
    passed = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(str(ROOT / "skstab"))
        if event == "call" and is_ours and not code.co_name.startswith("<"):
            passed.add((code.co_filename, code.co_qualname))

    with warnings.catch_warnings(action="ignore"):
        StabilityCV(Lasso(0.1), cv=5).fit(X, y)  # what is imported when first needed
        sys.setprofile(note)
        StabilityCV(Lasso(0.1), cv=5).fit(X, y)
        sys.setprofile(None)
    return len(passed), len({file for file, _ in passed})


def main() -> None:
    """Print the figures, each beside its limit where it has one."""
    modules = sorted((ROOT / "skstab").rglob("*.py"))
    sources = [module.read_text() for module in modules]
    trees = [ast.parse(source) for source in sources]
    lines = [count for source in sources for count in tokens_by_line(source).values()]
    n_tokens = sum(lines)
    nodes = [node for tree in trees for node in ast.walk(tree)]
    n_choices = sum(isinstance(node, ast.IfExp) for node in nodes)
    n_nested = sum(has_nested_choice(node) for node in nodes)

    tests = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if "thirdparty" not in path.parts
    ]
    private = re.compile(r"^\s*(from|import) skstab(\.\w+)*\._\w+", re.MULTILINE)
    n_private = sum(bool(private.search(path.read_text())) for path in tests)
    shadows = [m.stem for m in modules if m.stem.lstrip("_") in sys.stdlib_module_names]
    shadows = [name for name in shadows if name != "__main__"]

    n_functions, n_files = passed_by_a_fit()
    rows = [
        ("modules", len(modules), 130),
        ("code tokens", n_tokens, 230_000),
        ("code tokens per code line", round(n_tokens / len(lines), 2), 8.5),
        (
            "lines with 20 tokens or more, %",
            round(100 * sum(n >= 20 for n in lines) / len(lines), 2),
            6,
        ),
        (
            "conditional expressions per 1000 tokens",
            round(1000 * n_choices / n_tokens, 2),
            None,
        ),
        ("nested conditional expressions", n_nested, 0),
        (
            "helpers with one caller and fewer than five lines",
            short_helpers(trees),
            None,
        ),
        ("definitions that share a name", names_defined_twice(trees), None),
        ("modules named as one of the standard library", len(shadows), 0),
        (
            "test files that import private modules, %",
            round(100 * n_private / len(tests), 1),
            35,
        ),
        ("functions that a fit of StabilityCV passes", n_functions, 180),
        ("files that they are in", n_files, 26),
    ]
    for what, value, limit in rows:
        verdict = (
            ""
            if limit is None
            else f"limit {limit:>7}  {'ok' if value <= limit else 'above'}"
        )
        print(f"{what:<52}{value:>9}  {verdict}".rstrip())


if __name__ == "__main__":
    main()

"""Functions for notebook 21: the listing of a broken kernel, a patch of its source, compute-sanitizer's verdicts."""

import re
from typing import TYPE_CHECKING, Any

from tutorlib.exercises import of_notebook
from tutorlib.exercises.judges.p21 import CAUSES, Diagnosis, FixExercise
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.measuring.results import SANITIZER, TOOLS, records

if TYPE_CHECKING:
    from pandas import DataFrame
    from torch import Tensor

    from tutorlib.problems.problem import Shape


__all__ = [  # what page 21 imports
    "BUGS",
    "CAUSES",
    "Diagnosis",
    "as_it_is",
    "output_of",
    "patch",
    "show_bug",
    "show_verdicts",
]
PAGE = "21_bug_hunt"
MONOSPACE = "font-family: monospace !important; line-height: 1.35"  # exported pages use another font for outputs


class Listing:
    """Source code with line numbers: HTML in a notebook, text elsewhere."""

    def __init__(self, source: str, language: str) -> None:
        self.source, self.language = source, language

    def __repr__(self) -> str:
        return "\n".join(f"{n:3}  {line}".rstrip() for n, line in enumerate(self.source.splitlines(), 1))

    def _repr_html_(self) -> str:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name

        shape = HtmlFormatter(linenos="inline", noclasses=True, nobackground=True, prestyles=MONOSPACE)
        return highlight(self.source, get_lexer_by_name(self.language), shape)


def show_bug(name: str) -> Listing:
    """A broken kernel, as the colleague sent it."""
    bug = BUGS[name]
    return Listing(bug.source, bug.language)


def as_it_is(source: str) -> str:
    """A fix that changes nothing: `explain("21.2", as_it_is)` looks at the broken kernel."""
    return source


def patch(source: str, old: str, new: str) -> str:
    """The source with `new` in place of `old`, which may have several lines.

    Raises ValueError unless the source contains `old` exactly once.
    """
    times = source.count(old)
    if times != 1:
        lines = [n for n, line in enumerate(source.splitlines(), 1) if old in line]
        where = f"occurs {times} times, in lines {', '.join(map(str, lines))}" if times else "does not occur"
        raise ValueError(f"{old!r} {where}: choose text that the source contains once")
    return source.replace(old, new)


def show_verdicts(*names: str) -> "DataFrame | None":
    """The verdicts of compute-sanitizer's tools on these bugs, by default on all in the page's order: a row for each
    bug that a recording has, below the recording's GPU, date and version. If there is none, it prints a line that says
    so.
    """
    import pandas

    names = names or tuple(exercise.bug.name for exercise in of_notebook(PAGE) if isinstance(exercise, FixExercise))
    tables = {}
    for found in records(SANITIZER):
        verdicts = {name: found["verdicts"][name] for name in names if name in found["verdicts"]}
        rows = {name: [verdict_in_words(by.get(tool)) for tool in TOOLS] for name, by in verdicts.items()}
        if rows:
            version = re.findall(r"[\d.]+", found["compute_sanitizer"])[0]  # of "Version 2025.3.1.0 (build …)"
            heading = f"{found['machine']['gpu']}, {found['date']}, compute-sanitizer {version}"
            tables[heading] = pandas.DataFrame.from_dict(rows, orient="index", columns=list(TOOLS))
    if not tables:
        print("Nothing was recorded.")
        return None
    return pandas.concat(tables)


def verdict_in_words(verdict: dict[str, Any] | None) -> str:
    """A cell of the table."""
    if verdict is None:
        return "not recorded"
    if verdict["ended"] != "finished":
        return verdict["ended"]
    if not verdict["errors"]:
        return "nothing"
    kind, *_ = re.split(r" between | at |\. ", verdict["first"].removeprefix("Error: "))  # without addresses
    return f"{verdict['errors']}: {kind}"


def output_of(name: str, shape: "Shape", *inputs: "Tensor", source: str = "") -> "Tensor":
    """Simulate a broken kernel on these inputs, or on random ones, and return its output.

    shape: by the dims of its problem. source: of another kernel to run in its place. Elements that it does not write
    are NaN. What the kernel prints is printed. Raises CompileFailed.
    """
    import torch

    from tutorlib.exercises.judges.p21 import put_inputs
    from tutorlib.measuring.simulated_launchers import simulator_of
    from tutorlib.problems.work import Work

    bug = BUGS[name]
    work = Work(bug.problem, shape, "cpu")
    work.refill(torch.Generator().manual_seed(0))
    if inputs:
        put_inputs(work, inputs)
    work.output.poison()
    simulator = simulator_of(bug, source or bug.source)
    simulator.on(work)()
    for report in simulator.reports:
        print(*report.printed, sep="\n", end="\n" if report.printed else "")
    return work.output.tensor.clone()

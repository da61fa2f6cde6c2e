"""Functions for notebook 21: the listing of a broken kernel, a patch of its source, compute-sanitizer's verdicts."""

import re
from typing import TYPE_CHECKING, Any

from tutorlib.exercises.judges.p21 import CAUSES, Diagnosis
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.measuring.results import SANITIZER, TOOLS, records

if TYPE_CHECKING:
    from pandas import DataFrame
    from torch import Tensor

    from tutorlib.problems.problem import Shape


__all__ = [  # what page 21 imports
    "CAUSES",
    "Diagnosis",
    "as_it_is",
    "output_of",
    "patch",
    "show_bug",
    "show_report",
    "show_verdicts",
]
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


def show_verdicts() -> "DataFrame | None":
    """The verdicts of compute-sanitizer's tools on the broken kernels: a row for each that a recording has."""
    import pandas

    tables = []
    for found in records(SANITIZER):
        version = re.findall(r"[\d.]+", found["compute_sanitizer"])[0]  # of "Version 2025.3.1.0 (build …)"
        names = [name for name in BUGS if name in found["verdicts"]]
        print(f"{', '.join(names)}: {found['machine']['gpu']}, {found['date']}, compute-sanitizer {version}")
        rows = {name: [verdict_in_words(found["verdicts"][name].get(tool)) for tool in TOOLS] for name in names}
        tables.append(pandas.DataFrame.from_dict(rows, orient="index", columns=list(TOOLS)))
    if not tables:
        print("Nothing was recorded.")
        return None
    return pandas.concat(tables)


def verdict_in_words(verdict: dict[str, Any] | None) -> str:
    """A cell of the table."""
    if verdict is None:
        return "not recorded"
    if verdict["ended"] != "finished":
        return verdict["ended"].partition(":")[0]
    if not verdict["errors"]:
        return "-"
    kind, *_ = re.split(r" reported | of size | detected", verdict["first"].removeprefix("Error: "))
    return f"{verdict['errors']} × {kind}"


def show_report(*names: str) -> None:
    """Tools' own words on kernels, as recorded: "memcheck, sgemm"."""
    for found in records(SANITIZER):
        for name in names:
            if lines := found.get("reports", {}).get(name):
                print(f"{name}, {found['machine']['gpu']}", *lines, "", sep="\n")


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

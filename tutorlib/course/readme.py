"""README's table: a row for each notebook, a column for each GPU on which the solutions ran.

README, the contents page and the glossary are built from all notebooks together.
"""

import re
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path

from tutorlib.course import contents, glossary
from tutorlib.course.build import text_of
from tutorlib.course.evidence import code_sha256
from tutorlib.exercises import find, of_notebook
from tutorlib.measuring.results import Result, Results, all_results
from tutorlib.notebook.contents import time
from tutorlib.notebook.measured import show_ratio
from tutorlib.notebook.standing import course_of
from tutorlib.paths import NOTEBOOKS, ROOT, SOLUTIONS

README = ROOT / "README.md"
BEGIN, END = "<!-- begin table -->", "<!-- end table -->"


def table(everything: Sequence[Results]) -> str:
    """README's table. Raises BuildError if the head of a source has a fault."""
    course = course_of({}, contents.read_heads())
    rows = [["notebook", "time", "points", "without a GPU", *map(gpu_heading, everything)]]
    rows.append(["---"] * len(rows[0]))
    for notebook in course.notebooks:
        link = f"[{notebook.head.title}](notebooks/{notebook.head.name}.ipynb)"
        row = [link, time(notebook.head), str(notebook.max_points), contents.without_gpu(notebook.exercises)]
        rows.append(row + [reached(notebook.head.name, results) for results in everything])
    rows.append(
        [
            "**Total**",
            *contents.last_row(course),
            *(f"**{points_reached(results.exercises.values())}**" for results in everything),
        ]
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def gpu_heading(results: Results) -> str:
    """The column's heading: GPU, date, and packages whose versions differ from the pins."""
    others = [f"{package} {version}" for package, version in off_pins(results).items()]
    return f"{results.gpu}, {results.date}" + (f" ({', '.join(others)})" if others else "")


def off_pins(results: Results) -> dict[str, str]:
    """Package → the version that ran there, if pyproject.toml pins another."""
    pinned = pins()
    ran = results.machine["packages"]
    return {name: version for name, version in ran.items() if version and pinned.get(name, version) != version}


def pins() -> dict[str, str]:
    """Package → its version in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        found["name"]: found["version"]
        for line in project["dependencies"]
        if (found := re.fullmatch(r"(?P<name>[\w-]+)(\[[\w,]+\])?==(?P<version>[\w.]+)", line))
    }


def reached(name: str, results: Results) -> str:
    """One GPU's results of a notebook: points, the fastest timed kernel, and whether its code has changed since.

    Points are those of the page that ran, which may have had fewer exercises.

    "–" for a notebook that needs no GPU: make test and make grade run it on every machine.
    """
    if not any(exercise.needs for exercise in of_notebook(name)):
        return "–"
    page = results.notebooks.get(name)
    if page is None:
        return "not run"
    found = results.of_notebook(name[:2]).values()
    parts = [points_reached(found)]
    if timed := results.timed(name[:2]):
        best = max(timed, key=lambda id: timed[id].ratio)
        parts.append(f"{find(best).title}: {timed[best].rate}, {show_ratio(timed[best])} of {timed[best].baseline}")
    if page.code_sha256 != code_sha256(name):
        parts.append("*changed since*")
    return "; ".join(parts)


def points_reached(found: Collection[Result]) -> str:
    return f"{sum(result.points for result in found):g} of {sum(result.max_points for result in found):g} points"


def with_table(readme: str, everything: Sequence[Results]) -> str:
    """README's text with the current table between its two markers."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(everything)}\n{END}{after}"


def build() -> dict[Path, str]:
    """README, the contents page and the glossary: path → text. Writes nothing. Raises BuildError."""
    page = text_of(glossary.glossary_page(SOLUTIONS))
    everywhere = {folder / f"{glossary.GLOSSARY}.ipynb": page for folder in (NOTEBOOKS, SOLUTIONS)}
    readme = with_table(README.read_text(encoding="utf-8"), all_results())
    return {**contents.build(), README: readme, **everywhere}

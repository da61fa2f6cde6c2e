"""The `tutor` command."""

import json
import os
import re
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from tutorlib.simulate.cli import add_to as add_simulate_to

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
Names = Annotated[list[str] | None, typer.Argument(help="Notebooks by name or number; default: all.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Time limit of a cell, in seconds.")]
Sandboxed = Annotated[
    bool, typer.Option("--sandbox/--no-sandbox", help="Run students' code in a sandbox (needs bubblewrap).")
]
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)


def fail(message: str, code: int = 2) -> typer.Exit:
    """Print an error on stderr; `raise fail(...)` ends the command."""
    err.print(message, style="red", markup=False)
    return typer.Exit(code)


@app.callback()
def tutor() -> None:
    """Build, grade and measure the course."""


@app.command()
def build(
    names: Names = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a notebook is stale.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Also execute the solved notebooks.")] = False,
    fill: Annotated[
        bool, typer.Option("--fill", help="Execute them, and keep the outputs of cells that have been executed.")
    ] = False,
) -> None:
    """Write the notebooks, the contents page, the glossary and the tables from solutions/*.py."""
    from tutorlib.course import build, contents, source

    wanted = chosen(names or [])
    try:
        for name in wanted:
            write_stale(build.build(name), check)
            if run or fill:
                out.print(f"running {name}")
                build.run(name, fill=fill)
        write_stale(contents.build(), check)
    except source.BuildError as error:
        raise fail(str(error), 1) from None


def write_stale(built: dict[Path, str], check: bool) -> None:
    """Write the files that are missing or stale; with `check` end the command at the first of them."""
    for path, text in built.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            raise fail(f"{path}: stale; run `tutor build` and commit what it writes", 1)
        path.write_text(text, encoding="utf-8")
        out.print(f"wrote {path}", markup=False)


@app.command()
def grade(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Notebooks, folders of them, or 05 for its solved page; default: solutions."),
    ] = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="Format of the scores.")] = "table",
    folder: Annotated[Path | None, typer.Option("--out", help="Write scores.json here.")] = None,
    timeout: Timeout = 60,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeat a run with the random inputs of this seed, from its scores.json.")
    ] = None,
    sandboxed: Sandboxed = True,
) -> None:
    """Grade notebooks as one submission. Exit status 0: every exercise that ran has full points; else 1."""
    from tutorlib.course.source import BuildError
    from tutorlib.grading import sandbox
    from tutorlib.grading.grade import GradingFailed
    from tutorlib.grading.grade import grade as grade_notebooks
    from tutorlib.grading.judge_process import Settings
    from tutorlib.grading.scores import progress
    from tutorlib.grading.submission import BadSubmission, read_submission
    from tutorlib.paths import SOLUTIONS, notebook_names

    try:
        solved = {name[:2]: SOLUTIONS / f"{name}.ipynb" for name in notebook_names()}
        given = [solved.get(str(path), path) for path in paths or []]
        submission = read_submission(given, lambda line: err.print(line, style="yellow", markup=False))
        if not paths and sandboxed and (why := sandbox.why_open()):
            err.print(f"{why}. The course's own solutions are graded without a sandbox.", markup=False)
            sandboxed = False
        if folder:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise fail(f"{folder}: cannot be created: {error.strerror}") from None
        with progress(err, "notebooks", len(submission)) as done:
            scores = grade_notebooks(submission, Settings(timeout, sandboxed, seed), done)
    except (BadSubmission, GradingFailed, BuildError) as error:
        raise fail(str(error)) from None
    for name, why in scores.broken.items():
        err.print(f"{name} could not be graded: {why}", style="yellow", markup=False)
    text = json.dumps(scores.as_json(), ensure_ascii=False, indent=1)
    if folder:
        (folder / "scores.json").write_text(text + "\n", encoding="utf-8")
    if format == "json":
        typer.echo(text)
    else:
        out.print(scores.table(), soft_wrap=False)
    raise typer.Exit(0 if scores.full else 1)


@app.command("class")
def grade_class(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The submissions: a folder or file per student.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NOTEBOOK]...", help="To grade, such as 00 01; default: all that were submitted."),
    ] = None,
    to: Annotated[Path, typer.Option("--out", help="Your roster.csv, and all results.")] = Path("graded"),
    workers: Annotated[
        int, typer.Option(min=1, help="Submissions graded in parallel; default: one per core.", show_default=False)
    ] = os.cpu_count() or 1,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help='Grade on this Ray cluster; "local": on this machine.')
    ] = None,
    timeout: Timeout = 60,
    sandboxed: Sandboxed = True,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of all random inputs; default: a secret one per submission.")
    ] = None,
) -> None:
    """Grade a class: every submission in a folder, into OUT/gradebook.

    A second run resumes, and grades only new and changed submissions. It always rewrites OUT/grades.csv and the other
    reports. Each run reads your files in OUT: roster.csv, rules.toml (late penalties) and corrections*.csv.
    """
    from tutorlib.classroom import CannotGrade, class_command
    from tutorlib.grading.judge_process import Settings

    wanted = tuple(sorted(set(chosen(names)))) if names else None
    settings = Settings(timeout, sandboxed, seed)
    try:
        lines, results, failed = class_command.grade_folder(folder, to, settings, wanted, workers, ray, err)
    except CannotGrade as error:
        raise fail(str(error)) from None
    for line in lines:
        err.print(line, style="yellow", markup=False)
    out.print(results, markup=False)
    raise typer.Exit(1 if failed else 0)


add_simulate_to(app)


@app.command()
def progress() -> None:
    """Show your points so far: the best result of `check` for each exercise on this machine."""
    from rich.markdown import Markdown

    from tutorlib.notebook import course_table
    from tutorlib.notebook.standing import best, course_of, heads

    table = course_table.progress(course_of(best(), heads()))
    out.print(Markdown(re.sub(r"<br>.*?(?= \|)", "", table)), soft_wrap=False)  # a line for each page


@app.command()
def doctor() -> None:
    """Show this machine's GPU and packages, what is missing, what it can grade, and what to do next."""
    from tutorlib.course.doctor import report

    for line in report():
        out.print(f"{line.what:<9}{line.says}", style="yellow" if line.bad else None, markup=False)


@app.command()
def calibrate(names: Names = None) -> None:
    """Measure the solutions on this GPU and make their speeds the targets of its architecture."""
    from tutorlib.course import measure_solutions
    from tutorlib.measuring import results

    need_gpu()
    timed = [name for name in chosen(names or []) if measure_solutions.timed_exercises(name)]
    outcomes = [outcome for name in timed for outcome in measure_solutions.grade_solutions(name)]
    problems = measure_solutions.save_targets(outcomes, overwrite=True)
    for outcome in outcomes:
        if ratio := results.target_ratio(need_gpu()["arch"], outcome.id):
            out.print(f"{outcome.id}  {ratio:.3f}", markup=False)
    if problems:
        raise fail("\n".join(problems), 1)


@app.command()
def evidence(names: Names = None) -> None:
    """Measure the solutions on this GPU and execute them: figures/data/GPU.json, notebooks, docs/results.md."""
    from nbclient.exceptions import CellExecutionError

    from tutorlib.course import contents, measure_solutions

    need_gpu()
    wanted = chosen(names or [])
    outcomes = {}
    for name in wanted:
        out.print(f"measuring {name}", markup=False)
        outcomes[name] = measure_solutions.grade_solutions(name)
    written = measure_solutions.collect(outcomes).write()
    out.print(f"wrote {written}", markup=False)
    problems = measure_solutions.save_targets(
        [outcome for of_page in outcomes.values() for outcome in of_page], overwrite=False
    )
    for name in wanted:
        out.print(f"executing {name}", markup=False)
        try:
            measure_solutions.execute_page(name, written)
        except CellExecutionError as failure:
            problems.append(f"{name}: {failure.ename}: {failure.evalue}")
    write_stale(contents.build(), check=False)
    if problems:
        raise fail("\n".join(problems), 1)


@app.command()
def sweep(
    names: Annotated[list[str] | None, typer.Argument(help="Sweeps by name; default: all.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0, help="Time budget of each sweep; default: its own.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the measurements in this GPU's file; add what is missing.")
    ] = False,
) -> None:
    """Time many kernels at many sizes on this GPU: figures/data/sweeps/."""
    from tutorlib.instruments import launches
    from tutorlib.instruments.sweep import Failed
    from tutorlib.instruments.table import SWEEPS
    from tutorlib.measuring.results import LAUNCHES

    special = {LAUNCHES: launches.record}
    known = [*SWEEPS, *special]
    for name in names or known:
        if name not in known:
            raise fail(f"There is no sweep {name}; there are {', '.join(known)}.")
    need_gpu()
    for name in names or known:
        try:
            written = special[name]() if name in special else run_sweep(name, seconds, resume)
        except Failed as error:
            err.print(f"{name}: {error}", style="yellow", markup=False)
            continue
        out.print(f"wrote {written}" if written else f"{name}: this GPU can run none of its kernels", markup=False)


def run_sweep(name: str, seconds: float | None, resume: bool) -> Path | None:
    """Measure one sweep, printing and saving each point as it comes."""
    from tutorlib.instruments.sweep import count_all, measure_all
    from tutorlib.instruments.table import SWEEPS
    from tutorlib.machine.device import this_machine
    from tutorlib.measuring.results import Failure, SweepResults, read_sweep, sweep_file

    sweep, start = SWEEPS[name](), time.monotonic()
    budget = sweep.seconds if seconds is None else seconds
    file = sweep_file(this_machine()["gpu"], name)
    found = SweepResults(this_machine(), date.today().isoformat(), complete=False)
    if resume and file.exists():
        found = replace(read_sweep(file), complete=False)
    found = replace(found, facts=found.facts | sweep.facts)
    try:
        found = replace(found, facts=found.facts | (sweep.look() if sweep.look else {}))
    except Exception as error:  # the facts beyond its kernels' times; the sweep goes on without
        err.print(f"{name}: {error}", style="yellow", markup=False)
    complete = True
    for point in measure_all(sweep, found.known):
        recorded = isinstance(point, Failure) or not point.measurement.off
        says = point if isinstance(point, Failure) else point.measurement
        out.print(f"{point.name}, {says}{'' if recorded else ': not recorded'}", markup=False)
        out.file.flush()
        complete &= recorded
        if recorded:
            found = replace(found.extended(point), machine=this_machine(), date=date.today().isoformat())
            found.write(name)
        left = budget - (time.monotonic() - start)
        if isinstance(point, Failure) and point.fatal:
            raise fail(f"{name}: {point.name} broke CUDA's context in this process. Go on without it: --resume.", 1)
        if left < 0:
            return file
    if not found.points:
        return None
    return replace(found, complete=complete, counters=found.counters or count_all(name, sweep)).write(name)


@app.command()
def plots(names: Annotated[list[str] | None, typer.Argument(help="Figures by name; default: all.")] = None) -> None:
    """Draw the performance figures from figures/data/."""
    from tutorlib.figures import registry
    from tutorlib.measuring.results import NoData

    for name in names or registry.FIGURES:
        if name not in registry.FIGURES:
            raise fail(f"There is no figure {name}; there are {', '.join(registry.FIGURES)}.")
        try:
            written = registry.save(name)
        except NoData as error:
            err.print(f"{name}: {error}", style="yellow", markup=False)
            continue
        for path in written:
            out.print(f"wrote {path}", markup=False)


def need_gpu() -> dict[str, Any]:
    """This machine. Raises typer.Exit if it has no GPU that torch can use."""
    from tutorlib.machine import device

    machine = device.this_machine()
    if machine["gpu"] is None:
        raise fail(f"This needs a GPU: {device.obstacle()}.")
    return machine


def chosen(wanted: list[str]) -> list[str]:
    """Notebook names for arguments such as "02", "03_layout_algebra" or a path; for no arguments, all."""
    from tutorlib.paths import notebook_names

    names = notebook_names()
    picked = []
    for want in wanted:
        stem = Path(want).stem
        matches = [name for name in names if name == stem or name[:2] == stem]
        if not matches:
            raise fail(f"There is no notebook {want}; there are {', '.join(names)}.")
        picked += matches
    return picked or list(names)


if __name__ == "__main__":
    app()

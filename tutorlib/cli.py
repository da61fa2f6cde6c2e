"""The `tutor` command."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)


def fail(message: str, code: int = 2) -> typer.Exit:
    """Say on stderr what is wrong; `raise fail(...)` ends the command."""
    err.print(message, style="red", markup=False)
    return typer.Exit(code)


@app.callback()
def tutor() -> None:
    """Build, grade and measure the course."""


@app.command()
def build(
    names: Annotated[list[str] | None, typer.Argument(help="Notebooks by name or number; default: all.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 when a notebook is stale.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Then execute the solved notebooks anew.")] = False,
) -> None:
    """Write the students' and the solved notebooks from solutions/NN_name.py."""
    from tutorlib import build as builder

    for name in chosen(names or []):
        try:
            built = builder.build(name)
        except builder.BuildError as error:
            raise fail(str(error), 1) from None
        for path in builder.stale(built):
            if check:
                raise fail(f"{path}: stale; run `tutor build {name[:2]}` and commit what it writes", 1)
            path.write_text(built[path], encoding="utf-8")
            out.print(f"wrote {path}", markup=False)
        if run:
            out.print(f"running {name}")
            builder.run(name)


@app.command()
def grade(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Notebooks, or folders of them; default: solutions.")
    ] = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="How to print the scores.")] = "table",
    folder: Annotated[Path | None, typer.Option("--out", help="Keep scores.json and JUnit files here.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a cell may take.")] = 60,
) -> None:
    """Grade notebooks as one submission. Exits 0 when every exercise that ran has full points, else 1."""
    import json

    from rich.progress import Progress

    from tutorlib import grading
    from tutorlib.build import BuildError

    try:
        submission = grading.read_submission(paths or [])
        if folder:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise fail(f"{folder}: cannot be made: {error.strerror}") from None
        with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
            bar = progress.add_task("grading", total=len(submission))
            limits = grading.Limits(seconds=timeout)
            scores = grading.grade(submission, limits, folder and folder.resolve(), lambda name: progress.advance(bar))
    except (grading.BadSubmission, grading.GradingFailed, BuildError) as error:
        raise fail(str(error)) from None
    text = json.dumps(scores.as_json(), ensure_ascii=False, indent=1)
    if folder:
        (folder / "scores.json").write_text(text + "\n", encoding="utf-8")
    if format == "json":
        typer.echo(text)
    else:
        out.print(scores.table(), soft_wrap=False)
    raise typer.Exit(0 if scores.full else 1)


@app.command()
def doctor() -> None:
    """What this machine has, what is missing, and what it can grade."""
    from tutorlib.doctor import report

    for line in report():
        out.print(f"{line.what:<9}{line.says}", style="yellow" if line.bad else None, markup=False)


Names = Annotated[list[str] | None, typer.Argument(help="Notebooks by name or number; default: all.")]


@app.command()
def calibrate(names: Names = None) -> None:
    """Write throughput targets for this GPU's architecture: what the solutions reach here."""
    from datetime import date

    from tutorlib import device, evidence, targets

    machine = gpu_machine(device.this_machine())
    runs = [evidence.rehearse(name) for name in chosen(names or []) if evidence.is_timed(name)]
    ratios, problems = evidence.calibrated(runs)
    targets.save(machine["arch"], machine, date.today().isoformat(), ratios)
    for id, ratio in ratios.items():
        out.print(f"{id}  {ratio:.3f}", markup=False)
    if problems:
        raise fail("\n".join(problems), 1)


@app.command()
def evidence(
    names: Names = None,
    table: Annotated[bool, typer.Option("--table", help="Run nothing; only write README's table.")] = False,
) -> None:
    """Run the solutions on this GPU: executed notebooks, figures/data/GPU.json, README's table."""
    from tutorlib import device, evidence

    if table:
        evidence.write_table()
        return
    machine = gpu_machine(device.this_machine())
    runs = []
    for name in chosen(names or []):
        out.print(f"running {name}", markup=False)
        runs.append(evidence.run(name))
    before = evidence.read(evidence.file_of(machine["gpu"]))
    path = evidence.write(evidence.collect(runs, before))
    evidence.write_table()
    out.print(f"wrote {path}", markup=False)
    if failed := [f"{run.name}: {run.error}" for run in runs if run.error]:
        raise fail("\n".join(failed), 1)


@app.command()
def sweep(
    names: Annotated[list[str] | None, typer.Argument(help="Sweeps by name; default: all.")] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Begin no measurement later than this, in each.")] = 3600,
) -> None:
    """Time many kernels at many sizes on this GPU: figures/data/sweeps/."""
    from tutorlib import device, sweeps
    from tutorlib.nvidia_example import NoExample

    for name in names or sweeps.SWEEPS:
        if name not in sweeps.SWEEPS:
            raise fail(f"There is no sweep {name}; there are {', '.join(sweeps.SWEEPS)}.")
    gpu_machine(device.this_machine())
    for name in names or sweeps.SWEEPS:
        try:
            written = swept(name, seconds)
        except NoExample as error:
            err.print(f"{name}: {error}", style="yellow", markup=False)
            continue
        out.print(f"wrote {written}", markup=False)


def swept(name: str, seconds: float) -> Path:
    """Measure one sweep, printing each point; what there is stays on disk should it be cut short. Raises NoExample."""
    import time

    from tutorlib import sweeps

    points, end = [], time.monotonic() + seconds
    for point in sweeps.measure(name):
        shape, noise = "×".join(map(str, point["shape"])), point["spread"]
        out.print(f"{point['name']}, {shape}: {point['ratio']:.3f} of {point['baseline']}, spread {noise:.1%}")
        out.file.flush()
        points.append(point)
        path = sweeps.write(name, points, complete=False, counts={})
        if time.monotonic() > end:
            return path
    return sweeps.write(name, points, complete=True, counts=sweeps.counted(name))


@app.command()
def plots(names: Annotated[list[str] | None, typer.Argument(help="Figures by name; default: all.")] = None) -> None:
    """Draw the performance figures from figures/data/."""
    from tutorlib import plots

    for name in names or plots.FIGURES:
        if name not in plots.FIGURES:
            raise fail(f"There is no figure {name}; there are {', '.join(plots.FIGURES)}.")
        try:
            written = plots.save(name)
        except plots.NoData as error:
            err.print(f"{name}: {error}", style="yellow", markup=False)
            continue
        for path in written:
            out.print(f"wrote {path}", markup=False)


def gpu_machine(machine: dict[str, Any]) -> dict[str, Any]:
    """The machine as it is, where it has a GPU that torch can use."""
    from tutorlib import device

    if machine["gpu"] is None:
        raise fail(f"This needs a GPU: {device.obstacle()}.")
    return machine


def chosen(wanted: list[str]) -> list[str]:
    """Notebook names for what was typed: "02", "02_layout_algebra" or a path that ends so; none typed: all."""
    from tutorlib.course import notebook_names

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

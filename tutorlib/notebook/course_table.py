"""The table of the course's notebooks in Markdown: on the contents page, with the points so far, and in README."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter

from tutorlib.checking.exercise import Exercise
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.notebook.standing import Course, Head, Standing, State, best, course_of, file, heads

SIGNS: dict[State, str] = {"passed": "✓", "partial": "◐", "failed": "✗", "not_run": "–", "open": "·"}
WORDS: dict[State, str] = {
    "passed": "passed",
    "partial": "partly right",
    "failed": "not right yet",
    "not_run": "not run here",
    "open": "not tried yet",
}
Column = tuple[Callable[[Standing], str], str]  # a notebook's cell, and the total
PATHS = {  # ways through the course: its pages, and what the reader has at the end
    "all of it": ("00-23", "GEMMs, attention and fused layers on Hopper, a simulated Blackwell GEMM, a bug hunt"),
    "I know CUDA": ("00-05 10 14 15", "a Hopper GEMM as fast as cuBLAS at 4096 and above"),
    "cuTile only": ("00 06-08 22", "GEMMs in bf16 and FP8, and attention, all in tiles"),
    "attention": ("00-07 10 14 15 22 23", "attention on Hopper, faster than cuDNN's with a causal mask"),
    "Hopper to Blackwell (after 10)": ("14 15 17", "both GEMMs, with your main loops; Blackwell's is simulated"),
}
PARTS = {  # by their first pages
    "00": "Layouts and first kernels",
    "06": "cuTile and Tile C++ (after 00)",
    "10": "A GEMM on tensor cores (after 05)",
    "14": "Hopper and Blackwell (after 10; 16 and 17 after 15)",
    "18": "Epilogues, layers, launches (after 10)",
    "21": "A bug hunt (after 06 and 15; CUDA C++)",
    "22": "Attention (22 after 07; 23 after 15 and 22)",
}


def show_contents() -> None:
    """The course at a glance: each notebook, your points so far, and the points that this machine can grade."""
    from IPython.display import display

    text = "\n\n".join([progress(course_of(best(), heads())), machine_line(), record_line()])
    display({"text/markdown": text, "text/plain": text}, raw=True)


def progress(course: Course) -> str:
    """What is next, a row for each notebook with the points so far, and what its signs mean."""

    def signs(notebook: Standing) -> str:
        return "".join(SIGNS[notebook.state(exercise)] for exercise in notebook.exercises)

    def here(part: Course | Standing) -> str:
        return available(part.exercises, attrgetter("points_here"))

    columns = {
        "Your points": (points, points(course)),
        "Exercises": (signs, ""),
        "Graded here": (here, here(course).partition(";")[0]),
    }
    following = "All exercises that this machine can grade are solved."
    if course.next:
        notebook, exercise = course.next
        following = f"Next: **{exercise.id} {exercise.title}** in {notebook.head.title}"
    legend = "   ".join(f"{SIGNS[state]} {WORDS[state]}" for state in SIGNS)
    return f"{following}\n\n{paths(course)}\n\n{table(course, linked, columns)}\n\n{legend}"


def paths(course: Course) -> str:
    """A row for each of PATHS: its pages, and their time without appendices."""
    rows = ["| Path | Pages | Time | You end with |", "| :-- | :-- | --: | :-- |"]
    for name, (pages, end) in PATHS.items():
        parts = [part.split("-") for part in pages.split()]
        minutes = sum(
            page.head.minutes
            for page in course.notebooks
            if any(part[0] <= page.head.name[:2] <= part[-1] for part in parts)
        )
        numbers = ", ".join(" to ".join(part) for part in parts)
        rows.append(f"| {name} | {numbers} | {hours(minutes)} | {end} |")
    return "\n".join(rows)


def table(course: Course, title: Callable[[Head], str], columns: Mapping[str, Column]) -> str:
    """A row for each notebook: its title, its time, and these columns, by their headings; the total below."""
    rows = [["Notebook", "Time", *columns]]
    rows.append([":--", "--:", *("--:" if heading.lower().endswith("points") else ":--" for heading in columns)])
    for page in course.notebooks:
        if part := PARTS.get(page.head.name[:2]):
            rows.append([f"**{part}**", *[""] * (len(columns) + 1)])
        rows.append([title(page.head), time(page.head), *(cell(page) for cell, _ in columns.values())])
    total = ["Total", hours(course.minutes), *(total for _, total in columns.values())]
    rows.append([f"**{cell}**" if cell else "" for cell in total])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def linked(head: Head) -> str:
    """A notebook's title as a link to it, and its summary below."""
    return f"[{head.title}]({head.name}.ipynb)<br>{head.summary}"


def points(part: Course | Standing) -> str:
    return f"{part.points:g} / {part.max_points}"


def time(head: Head) -> str:
    """The time of a notebook: the main path, and below it the appendix."""
    return hours(head.minutes) + (f"<br><small>appendix: {hours(head.appendix)}</small>" if head.appendix else "")


def hours(minutes: int) -> str:
    """90 → "90 min", 150 → "2.5 h", 860 → "14.5 h": rounded to half an hour, with a no-break space."""
    return f"{minutes}\N{NO-BREAK SPACE}min" if minutes < 120 else f"{round(minutes / 30) / 2:g}\N{NO-BREAK SPACE}h"


def available(exercises: Sequence[Exercise], given: Callable[[Exercise], float]) -> str:
    """The points of the exercises that a machine can grade, and what grades the rest: "all", "6 of 17; rest: sm_80".

    given: the points of an exercise that the machine can grade.
    """
    wanted = sorted(
        {exercise.needs.since for exercise in exercises if exercise.needs and given(exercise) < exercise.points}
    )
    if not wanted:
        return "all"
    part = f"{sum(map(given, exercises)):g} of {sum(exercise.points for exercise in exercises)}"
    return f"{part}; rest: " + ", ".join(f"sm_{since}" for since in wanted)


def machine_line() -> str:
    """The machine, and whether kernels run or are simulated."""
    found = device.gpu()
    if found is None:
        return f"This machine: {device.obstacle()}. Kernels are simulated; their speed is reported as not run."
    known = f"sm_{found.arch}" in results.load_targets()
    graded = "" if known else ", not graded by speed (`tutor calibrate` changes that)"
    return f"This machine: {found.name}, sm_{found.arch}. Kernels run here and are timed{graded}."


def record_line() -> str:
    now = f"{datetime.now():%Y-%m-%d, %H:%M}"
    return f"Points as of {now}, kept on this machine only, in `{file()}`: delete this file to forget them."

"""A check on a CPU exercise answers at once: a reader runs it again and again."""

import time
from importlib import util

import pytest

from tutorlib.build import parse
from tutorlib.course import SOLUTIONS, notebook_names
from tutorlib.exercises import find, of_notebook

QUICK = 0.2  # seconds; what a first check imports and compiles comes on top, once
NAMES = [name for name in notebook_names() if any(type(e).__name__ == "Exercise" for e in of_notebook(name))]


@pytest.mark.parametrize("name", NAMES)
def test_checks_of_values_are_quick(name, tmp_path):
    cells = [cell for cell in parse(SOLUTIONS / f"{name}.py") if cell.kind == "code"]
    file = tmp_path / f"solved_{name}.py"
    file.write_text("\n\n".join(cell.solved for cell in cells if cell.role != "check"), encoding="utf-8")
    spec = util.spec_from_file_location(file.stem, file)
    page = util.module_from_spec(spec)
    spec.loader.exec_module(page)
    slow = {}
    for cell in cells:
        if cell.role != "check" or type(exercise := find(cell.exercise)).__name__ != "Exercise":
            continue
        answer = getattr(page, cell.text.split(",")[1].strip(" )"))
        assert exercise.grade(answer).status == "passed"
        times = []
        for _ in range(3):
            start = time.perf_counter()
            exercise.grade(answer)
            times.append(time.perf_counter() - start)
        if min(times) > QUICK:
            slow[exercise.id] = round(min(times), 3)
    assert slow == {}

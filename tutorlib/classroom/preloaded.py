"""What workers inherit from the process that they are forked from: imports and the course's pages."""

import gc
import sys
from contextlib import suppress

import nbformat

import tutorlib.classroom.task  # noqa: F401
from tutorlib.course.execute import environment
from tutorlib.course.source import BuildError
from tutorlib.exercises import of_notebook, rooms
from tutorlib.grading.merged_page import pristine_page
from tutorlib.grading.sandbox import devices
from tutorlib.grading.scratch import scratch_folder
from tutorlib.paths import SOLUTIONS

for name in rooms():
    of_notebook(name)
    with suppress(BuildError, OSError):  # grading the page reports it
        nbformat.validate(pristine_page(SOLUTIONS / f"{name}.py"))
asked = sys.modules.get("tutorlib.layouts.oracle")  # where an exercise asks CuTe
if asked and not any(devices()):  # beside a GPU cutlass loads its driver, which no fork can use
    with scratch_folder() as folder, environment(TMPDIR=str(folder)):  # where cutlass keeps files
        asked.ask(())
gc.freeze()  # a worker would write to all of it when it collects, and so copy it

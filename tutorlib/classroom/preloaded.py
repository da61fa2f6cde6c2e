"""The modules and pages that workers inherit from the process that they are forked from, the fork server."""
# ruff: noqa: E402

import os

from tutorlib.machine.lineage import die_with

die_with(os.getppid())  # the server dies with the command, also during the imports below, which take seconds

import gc
import sys
from contextlib import suppress

import nbformat

import tutorlib.classroom.task  # noqa: F401
from tutorlib.course.execute import environment
from tutorlib.course.source import BuildError
from tutorlib.exercises import of_notebook
from tutorlib.grading.merged_page import pristine_page
from tutorlib.grading.sandbox import devices
from tutorlib.grading.scratch import scratch_folder
from tutorlib.paths import SOLUTIONS, notebook_names

for name in notebook_names():
    of_notebook(name)
    with suppress(BuildError, OSError):  # grading the page reports it
        nbformat.validate(pristine_page(SOLUTIONS / f"{name}.py"))
asked = sys.modules.get("tutorlib.layouts.oracle")  # loaded if an exercise asks CuTe
if asked and not any(devices()):  # with a GPU, cutlass loads the driver, which a forked process cannot use
    with scratch_folder() as folder, environment(TMPDIR=str(folder)):  # where cutlass keeps files
        asked.ask(())
gc.freeze()  # a worker's garbage collection would write to all of it, and so copy it

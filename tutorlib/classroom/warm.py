"""Imported once, in the process that workers are forked from: all that grading a submission imports."""

import tutorlib.classroom.task  # noqa: F401
from tutorlib.exercises import modules, of_notebook

for name in modules():
    of_notebook(name)

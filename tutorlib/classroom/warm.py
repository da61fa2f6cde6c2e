"""Imported once, in the process that workers are forked from: all that grading a submission imports."""

from tutorlib.machine.imports import skip_url_grammar

skip_url_grammar()

import tutorlib.classroom.task  # noqa: E402, F401
from tutorlib.exercises import modules, of_notebook  # noqa: E402

for name in modules():
    of_notebook(name)

"""Imported once, in the process that workers are forked from: all that grading a submission imports."""

from tutorlib.machine.imports import skip_url_grammar

skip_url_grammar()

import nbval.plugin  # noqa: E402, F401

import tutorlib.classroom.task  # noqa: E402, F401

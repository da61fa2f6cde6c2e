"""The bug that has no report: nothing on the page says which inputs show it, or how."""

import pytest

from tutorlib import explain
from tutorlib.exercises import find
from tutorlib.notebook.hunt import as_it_is


@pytest.mark.usefixtures("no_gpu")
def test_neither_the_check_nor_explain_tells_the_symptom(capsys):
    message = find("18.30").grade(as_it_is).message
    assert "wrong for some inputs" in message
    explain("18.30", as_it_is, shape=(1, 8))
    said = message + capsys.readouterr().out
    assert "y is right" in said
    assert "nan" not in said

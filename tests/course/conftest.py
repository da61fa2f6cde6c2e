"""A page of a trial course: exercise 90.1 and its check; and a registry that has exercises 90.1 and 91.1."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.trial_course import EXERCISES, registered

MODULES = {f"p{number}": EXERCISES.format(number=number, count=1) for number in (90, 91)}
PAGE = dedent('''\
    # %% [markdown]
    # # A page

    # %%
    from tutorlib import check


    # %%
    def answer(n):
        """One more."""
        ### BEGIN SOLUTION (about 1 line)
        return (n + 2) - 1
        ### END SOLUTION


    # %%
    check("90.1", answer)
    ''')


def write_source(folder: Path, text: str = PAGE) -> Path:
    path = folder / "90_trial.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def trial_page(tmp_path):
    with registered(tmp_path / "exercises", MODULES):
        yield

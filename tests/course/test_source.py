"""A notebook's source: the contract, and what each breach of it says."""

import pytest

from tests.course.conftest import PAGE, write_source
from tutorlib.course.source import BuildError, parse

pytestmark = pytest.mark.usefixtures("trial_page")


def faults(tmp_path, text):
    path = write_source(tmp_path, text)
    with pytest.raises(BuildError) as error:
        parse(path)
    return [line.removeprefix(f"{path}:") for line in str(error.value).splitlines()]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("    ### END SOLUTION\n", "", 11, "never closed"),
        ("    return", "    ### BEGIN SOLUTION (about 1 line)\n    return", 12, "inside the one of line 11"),
        ("    ### BEGIN SOLUTION (about 1 line)\n", "", 12, "END SOLUTION without a BEGIN"),
        ("    return (n + 2) - 1\n", "", 11, "empty"),
        ("(about 1 line)", "(1 line)", 11, "not a marker"),
        ('check("90.1", answer)', "print(1)", 9, "no check after it"),
        ('check("90.1", answer)', 'check("90.9", answer)', 17, "No exercise 90.9"),
        ('check("90.1", answer)', 'check("91.1", answer)', 17, "belongs to another notebook"),
        ('check("90.1", answer)', 'x = 1\ncheck("90.1", answer)', 17, "alone in its cell"),
        ("# # A page", "# # A page\n#\n#     return (n + 2) - 1", 2, "shows the answer to 90.1"),
        ("[markdown]\n# # A page", "[markdown] # A page", 1, "begin it on a new line: # A page"),
        (
            'check("90.1", answer)',
            'check("90.1", answer)\n\n# %%\ncheck("90.1", answer)',
            20,
            "no answer cell before it",
        ),
    ],
)
def test_every_fault_names_its_line(tmp_path, old, new, line, says):
    assert old in PAGE
    found = faults(tmp_path, PAGE.replace(old, new, 1))
    assert any(fault.startswith(f"{line}: ") and says in fault for fault in found), found


def test_an_answer_before_another_answer_has_no_check(tmp_path):
    answer = PAGE[PAGE.index("# %%\ndef") : PAGE.index("# %%\ncheck")]
    found = faults(tmp_path, PAGE.replace(answer, answer + answer.replace("n + 2", "n")))
    assert any("no check before the next answer" in fault for fault in found)


def test_a_registered_exercise_that_nobody_asks_for_is_a_fault(tmp_path):
    found = faults(tmp_path, PAGE[: PAGE.index("# %%\ndef")])
    assert found == ["1: exercise 90.1 is registered and the notebook does not ask for it"]

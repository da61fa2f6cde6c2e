"""Building the notebooks: the contract of sources, and both notebooks of a page."""

import nbformat
import pytest
from nbformat import v4
from typer.testing import CliRunner

from tests.course.conftest import MODULES, PAGE, write_source
from tests.trial_course import registered
from tutorlib import cli
from tutorlib.cli import app
from tutorlib.course import build as building
from tutorlib.course import contents
from tutorlib.course.build import WIDGET, build, run, solved_notebook, student_notebook, without_traces
from tutorlib.course.source import BuildError, parse

pytestmark = pytest.mark.usefixtures("trial_page")


def test_answers_are_taken_out(tmp_path):
    student = student_notebook(parse(write_source(tmp_path)))
    answer, check = student.cells[2:]
    assert answer.source.splitlines()[2:] == [
        "    # YOUR CODE HERE (about 1 line)",
        '    raise NotImplementedError("Exercise 90.1")',
    ]
    assert answer.id == "answer-90-1"
    assert answer.metadata["tutorlib"] == {"exercise": "90.1", "role": "answer"}
    assert check.id == "check-90-1"
    assert check.outputs[0].text == "✓ 90.1 answer: 2 points\n"
    assert check.execution_count is not None  # nbval compares no output without it


def test_outputs_stay_where_the_code_did(tmp_path):
    ran = solved_notebook(parse(write_source(tmp_path)))
    for cell in ran.cells[1:]:
        cell.execution_count, cell.outputs = 7, [nbformat.v4.new_output("stream", text="kept\n")]
    changed = parse(write_source(tmp_path, PAGE.replace("(n + 2) - 1", "1 + n")))
    again = solved_notebook(changed, ran)
    assert [cell.get("execution_count") for cell in again.cells] == [None, 7, None, 7]


def test_a_cutile_kernel_gets_a_raise_that_its_compiler_accepts(tmp_path):
    kernel = PAGE.replace("def answer", "@ct.kernel\ndef answer")
    student = student_notebook(parse(write_source(tmp_path, kernel)))
    assert 'raise ct.static_exception(NotImplementedError("Exercise 90.1"))' in student.cells[2].source


def test_nbval_compares_the_line_of_an_exercise_that_needs_no_gpu_alone(tmp_path):
    """Elsewhere a kernel's line says "not run"."""
    on_gpu = "from tutorlib.machine.features import MMA_SYNC\n" + MODULES["p90"].replace(
        "points=2", "points=2, needs=MMA_SYNC"
    )
    tags = []
    for folder, module in (("cpu", MODULES["p90"]), ("gpu", on_gpu)):
        with registered(tmp_path / folder, {"p90": module}):
            tags.append(student_notebook(parse(write_source(tmp_path))).cells[3].metadata.get("tags"))
    assert tags == [["nbval-check-output"], None]


class TestTheCommand:
    @pytest.fixture
    def tutor_build(self, tmp_path, monkeypatch):
        """`tutor build` of a course that is this one page."""
        write_source(tmp_path)
        (tmp_path / "notebooks").mkdir()
        monkeypatch.setattr(cli, "chosen", lambda names: ["90_trial"])
        monkeypatch.setattr(building, "build", lambda name: build(name, tmp_path, tmp_path / "notebooks"))
        monkeypatch.setattr(contents, "build", dict)
        return lambda *options: CliRunner().invoke(app, ["build", *options])

    def test_what_is_stale_is_written_and_then_nothing_is(self, tutor_build, tmp_path):
        refused = tutor_build("--check")
        assert refused.exit_code == 1
        assert "stale; run `tutor build`" in refused.output
        assert not list(tmp_path.rglob("*.ipynb"))
        assert tutor_build().output.count("wrote ") == 2
        assert tutor_build("--check").exit_code == 0
        assert tutor_build().output == ""

    def test_a_fault_of_the_source_ends_it(self, tutor_build, tmp_path):
        write_source(tmp_path, PAGE.replace("    ### END SOLUTION\n", ""))
        done = tutor_build()
        assert done.exit_code == 1
        assert "90_trial.py:11: BEGIN SOLUTION is never closed" in done.output


# Executing -----------------------------------------------------------------------------------------------------


def test_a_dead_widget_leaves_its_picture_and_warnings_go():
    widget = v4.new_output(
        "display_data", {WIDGET: {"model_id": "7"}, "image/png": "picture", "text/plain": "Explorer(children=…)"}
    )
    cell = v4.new_code_cell("explore()", outputs=[widget, v4.new_output("stream", name="stderr", text="a warning")])
    cell.metadata["execution"] = {"iopub.execute_input": "now"}
    (output,) = without_traces(cell).outputs
    assert output.data == {"image/png": "picture", "text/plain": "A widget: run the cell to use it."}
    assert cell.metadata == {}


def test_outputs_that_are_there_are_kept(tmp_path):
    page = v4.new_notebook(cells=[v4.new_code_cell("n = 2"), v4.new_code_cell("n"), v4.new_code_cell("n + 1")])
    measured = v4.new_output("execute_result", {"text/plain": "measured on a GPU"}, execution_count=7)
    page.cells[1].update(execution_count=7, outputs=[measured])
    nbformat.write(page, tmp_path / "page.ipynb")
    run("page", tmp_path, fill=True)
    _, had, new = nbformat.read(tmp_path / "page.ipynb", as_version=4).cells
    assert had.outputs[0].data == {"text/plain": "measured on a GPU"}
    assert had.execution_count == had.outputs[0].execution_count == 2
    assert new.outputs[0].data == {"text/plain": "3"}


def test_a_cell_that_shows_records_is_renewed_wherever_it_calls_them(tmp_path):
    cell = v4.new_code_cell("def show_steps(n):\n    return n\n\n\nshow_steps(2)")
    cell.update(execution_count=7, outputs=[v4.new_output("execute_result", {"text/plain": "1"}, execution_count=7)])
    nbformat.write(v4.new_notebook(cells=[cell]), tmp_path / "page.ipynb")
    run("page", tmp_path, fill=True)
    assert nbformat.read(tmp_path / "page.ipynb", as_version=4).cells[0].outputs[0].data == {"text/plain": "2"}


# Sources -------------------------------------------------------------------------------------------------------------


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

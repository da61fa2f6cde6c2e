"""source → notebooks: the contract, its errors, and the bytes."""

from textwrap import dedent

import nbformat
import pytest

from tutorlib.build import BuildError, build, parse, solved_notebook, stale, student_notebook, text_of
from tutorlib.course import SOLUTIONS, notebook_names

GOOD = dedent('''\
    # %% [markdown]
    # # A page

    # %%
    from tutorlib import check


    # %%
    def ceil_div(n, tile):
        """Tiles that cover n."""
        ### BEGIN SOLUTION (about 1 line)
        return (n + tile - 1) // tile
        ### END SOLUTION


    # %%
    check("00.1", ceil_div)
    ''')


def source(tmp_path, text):
    path = tmp_path / "00_start.py"
    path.write_text(text, encoding="utf-8")
    return path


def faults(tmp_path, text):
    path = source(tmp_path, text)
    with pytest.raises(BuildError) as error:
        parse(path)
    return [line.removeprefix(f"{path}:") for line in str(error.value).splitlines()]


def test_answers_are_taken_out(tmp_path):
    student = student_notebook(parse(source(tmp_path, GOOD)))
    answer, check = student.cells[2:]
    assert answer.source.splitlines()[2:] == [
        "    # YOUR CODE HERE (about 1 line)",
        '    raise NotImplementedError("Exercise 00.1")',
    ]
    assert answer.id == "answer-00-1"
    assert answer.metadata["tutorlib"] == {"exercise": "00.1", "role": "answer"}
    assert check.id == "check-00-1"
    assert check.outputs[0].text == "✓ 00.1 ceil_div: 2 points\n"
    assert check.execution_count is not None  # nbval compares no output without it


def test_the_solved_notebook_has_no_markers(tmp_path):
    solved = solved_notebook(parse(source(tmp_path, GOOD)))
    assert "SOLUTION" not in text_of(solved)
    assert "return (n + tile - 1) // tile" in solved.cells[2].source


def test_outputs_stay_where_the_code_did(tmp_path):
    cells = parse(source(tmp_path, GOOD))
    ran = solved_notebook(cells)
    for cell in ran.cells[1:]:
        cell.execution_count, cell.outputs = 7, [nbformat.v4.new_output("stream", text="kept\n")]
    changed = parse(source(tmp_path, GOOD.replace("(n + tile - 1) // tile", "-(-n // tile)")))
    again = solved_notebook(changed, ran)
    assert [cell.get("execution_count") for cell in again.cells] == [None, 7, None, 7]


def test_a_cutile_kernel_gets_a_raise_that_its_compiler_accepts(tmp_path):
    kernel = GOOD.replace("def ceil_div", "@ct.kernel\ndef ceil_div")
    student = student_notebook(parse(source(tmp_path, kernel)))
    assert 'raise ct.static_exception(NotImplementedError("Exercise 00.1"))' in student.cells[2].source


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("    ### END SOLUTION\n", "", 11, "never closed"),
        ("    return", "    ### BEGIN SOLUTION (about 1 line)\n    return", 12, "inside the one of line 11"),
        ("    ### BEGIN SOLUTION (about 1 line)\n", "", 12, "END SOLUTION without a BEGIN"),
        ("    return (n + tile - 1) // tile\n", "", 11, "empty"),
        ("(about 1 line)", "(1 line)", 11, "not a marker"),
        ('check("00.1", ceil_div)', "print(1)", 9, "no check after it"),
        ('check("00.1", ceil_div)', 'check("00.9", ceil_div)', 17, "No exercise 00.9"),
        ('check("00.1", ceil_div)', 'check("01.1", ceil_div)', 17, "belongs to another notebook"),
        ('check("00.1", ceil_div)', 'x = 1\ncheck("00.1", ceil_div)', 17, "alone in its cell"),
        ("# # A page", "# # A page\n#\n#     return (n + tile - 1) // tile", 2, "shows the answer to 00.1"),
        (
            'check("00.1", ceil_div)',
            'check("00.1", ceil_div)\n\n# %%\ncheck("00.1", ceil_div)',
            20,
            "no answer cell before it",
        ),
    ],
)
def test_every_fault_names_its_line(tmp_path, old, new, line, says):
    assert old in GOOD
    found = faults(tmp_path, GOOD.replace(old, new, 1))
    assert any(fault.startswith(f"{line}: ") and says in fault for fault in found), found


def test_an_answer_before_another_answer_has_no_check(tmp_path):
    answer = GOOD[GOOD.index("# %%\ndef") : GOOD.index("# %%\ncheck")]
    found = faults(tmp_path, GOOD.replace(answer, answer + answer.replace("n + tile - 1", "n")))
    assert any("no check before the next answer" in fault for fault in found)


def test_text_before_the_first_cell_is_refused(tmp_path):
    assert "text before the first cell" in faults(tmp_path, "import numpy\n\n" + GOOD)[0]


def test_a_registered_exercise_that_nobody_asks_for_is_a_fault(tmp_path):
    found = faults(tmp_path, GOOD[: GOOD.index("# %%\ndef")])
    assert found == ["1: exercise 00.1 is registered and the notebook does not ask for it"]


def test_the_same_source_gives_the_same_bytes_and_nothing_is_stale_after_writing(tmp_path):
    source(tmp_path, GOOD)
    built = build("00_start", tmp_path, tmp_path / "out")
    assert built == build("00_start", tmp_path, tmp_path / "out")
    (tmp_path / "out").mkdir()
    assert len(stale(built)) == 2
    for path, text in built.items():
        path.write_text(text, encoding="utf-8")
    assert stale(build("00_start", tmp_path, tmp_path / "out")) == []


@pytest.mark.parametrize("name", notebook_names())
def test_the_committed_notebooks_are_what_the_source_says(name):
    assert stale(build(name)) == []


@pytest.mark.parametrize("name", notebook_names())
def test_solving_only_adds_lines(name):
    """Without its placeholder lines, a student's cell is the solved one with lines missing, in the same order."""
    cells = parse(SOLUTIONS / f"{name}.py")
    for cell in cells:
        kept = [
            line
            for line in cell.unsolved.split("\n")
            if "# YOUR CODE HERE (" not in line and f'NotImplementedError("Exercise {cell.exercise}")' not in line
        ]
        solved = iter(cell.solved.split("\n"))
        assert all(line in solved for line in kept)  # `in` on an iterator consumes it: a subsequence test
        assert bool(cell.regions) == (cell.unsolved != cell.text)

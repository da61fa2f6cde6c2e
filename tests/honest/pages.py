"""Right pages as people hand them in. Each function changes a page whose answers are right, and says what is odd."""

from nbformat import NotebookNode, v4

from tests.honest.answers import PLAIN
from tests.trial_course import cell

USES_HELPER = "def answer(n):\n    return following(n), 2 * n"
HELPER = "def following(n):\n    return n + 1"


def at(notebook: NotebookNode, id: str) -> int:
    return notebook.cells.index(cell(notebook, id))


def add(notebook: NotebookNode, source: str, before: str = "answer-60-1") -> None:
    """A code cell in front of the one with this id."""
    notebook.cells.insert(at(notebook, before), v4.new_code_cell(source))


def copied(notebook: NotebookNode, source: str) -> NotebookNode:
    """A copy of the first answer's cell as Jupyter makes it, metadata and all, with another text."""
    copy = v4.new_code_cell(source, metadata=cell(notebook, "answer-60-1").metadata)
    return copy


# Cells of one's own --------------------------------------------------------------------------------------------------


def helper_above(notebook):
    """A helper in a cell of its own."""
    add(notebook, HELPER)
    cell(notebook, "answer-60-1").source = USES_HELPER


def helper_between(notebook):
    """A helper between the first check and the second answer, which alone needs it."""
    add(notebook, HELPER, before="answer-60-2")
    cell(notebook, "answer-60-2").source = USES_HELPER


def import_in_the_courses_cell(notebook):
    """Imports and a constant in the course's own import cell."""
    notebook.cells[0].source += "\nimport numpy as np\n\nSTEP = 1"
    cell(notebook, "answer-60-1").source = "def answer(n):\n    return int(np.add(n, STEP)), 2 * n"


def module_written(notebook):
    """A module of its own, written by one cell and imported by the answer."""
    add(notebook, f"%%writefile my_helper.py\n{HELPER}\n")
    cell(notebook, "answer-60-1").source = f"from my_helper import following\n\n\n{USES_HELPER}"


def trials_around(notebook):
    """Cells that try things out, with results, prints and a picture."""
    add(notebook, "[2 * n for n in range(5)]")
    add(notebook, "answer(3)", before="answer-60-2")
    notebook.cells.append(v4.new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2]);"))


def cell_that_fails(notebook):
    """A cell that failed and was left, before the answer and after it."""
    add(notebook, "1 / 0")
    add(notebook, "nobody(3)", before="answer-60-2")
    notebook.cells.append(v4.new_code_cell("raise SystemExit"))


def cell_that_is_not_python(notebook):
    """Notes in a cell of code, brackets left open, and another language."""
    add(notebook, "n + 1, and then 2 n (I think")
    add(notebook, "%%javascript\nelement.text('n')")
    add(notebook, "%no_such_magic\n%%no_such_magic")


def cell_that_asks(notebook):
    """A cell that asks for input, which nobody gives while it is graded."""
    add(notebook, "n = input('n? ')")


def empty_cells(notebook):
    """Empty cells, and cells of comments alone, everywhere."""
    for id in ("answer-60-1", "answer-60-2"):
        add(notebook, "", before=id)
        add(notebook, "# later", before=id)
    notebook.cells.append(v4.new_code_cell(""))


# Copies --------------------------------------------------------------------------------------------------------------


def split_with_a_new_half_below(notebook):
    """The answer's cell was split, and the half with the answer is new to the course."""
    (first,) = (one for one in notebook.cells if one.id == "answer-60-1")
    first.source = HELPER
    notebook.cells.insert(at(notebook, "answer-60-1") + 1, v4.new_code_cell(USES_HELPER))


def identical_copies(notebook):
    """Three times the same answer."""
    for _ in range(2):
        notebook.cells.append(copied(notebook, PLAIN))


# The page ------------------------------------------------------------------------------------------------------------


def notes_added(notebook):
    """Texts of its own, with a picture attached and a formula."""
    picture = {"x.png": {"image/png": "iVBORw0KGgo="}}
    notebook.cells.insert(0, v4.new_markdown_cell("# My notes\n![](attachment:x.png) $n+1$", attachments=picture))
    notebook.cells.append(v4.new_raw_cell("raw"))


def checks_deleted(notebook):
    """The checks were deleted."""
    notebook.cells = [one for one in notebook.cells if not one.source.startswith("check(")]


def checks_changed(notebook):
    """The checks were commented out, or have more in them."""
    for one in notebook.cells:
        if one.source.startswith('check("60.1"'):
            one.source = f"# {one.source}"
        elif one.source.startswith("check("):
            one.source = f"print('now:')\n{one.source}  # at last"


def other_order(notebook):
    """The second exercise stands above the first."""
    notebook.cells = [notebook.cells[0], *notebook.cells[3:], *notebook.cells[1:3]]


def cells_as_text(notebook):
    """A cell of the course's was turned into text."""
    for n, one in enumerate(notebook.cells):
        if one.source.startswith("check("):
            notebook.cells[n] = v4.new_markdown_cell(one.source)


def executed(notebook):
    """Everything was run, some of it often: counts, results and errors are stored."""
    for n, one in enumerate(notebook.cells):
        one.execution_count = [None, 0, 999, 3, 2**40][n % 5]
        one.outputs = [
            v4.new_output("stream", text="✗ 60.1 answer: 0 of 2 cases right\n"),
            v4.new_output("error", ename="CheckFailed", evalue="wrong", traceback=["\x1b[31mCheckFailed"]),
            v4.new_output("execute_result", data={"text/plain": "3", "application/x-unheard-of+json": {"a": []}}),
        ]


def megabytes_of_outputs(notebook):
    """5 MB of outputs."""
    notebook.cells[0].outputs = [v4.new_output("stream", text="x" * 99 + "\n") for _ in range(100)]
    notebook.cells[0].outputs.append(v4.new_output("display_data", data={"image/png": "A" * 5_000_000}))


# Where it was edited -------------------------------------------------------------------------------------------------


def metadata_gone(notebook):
    """A tool removed all metadata."""
    notebook.metadata = {}
    for one in notebook.cells:
        one.metadata = {}


def edited_in_colab(notebook):
    """Colab: no ids and no metadata but its own."""
    notebook.metadata = {"colab": {"provenance": [], "toc_visible": True}, "kernelspec": {"name": "python3"}}
    notebook.nbformat_minor = 0
    for n, one in enumerate(notebook.cells):
        del one["id"]
        one.metadata = {"id": f"Ab{n}xYz", "colab": {"base_uri": "https://localhost:8080/"}, "outputId": "7"}


def edited_in_vs_code(notebook):
    """VS Code: a language for each cell, and its own idea of the kernel."""
    notebook.metadata["kernelspec"] = {"display_name": ".venv (3.11)", "language": "python", "name": "venv"}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.9.6", "pygments_lexer": "ipython3"}
    notebook.metadata["vscode"] = {"interpreter": {"hash": "31f2"}}
    for one in notebook.cells:
        one.metadata["vscode"] = {"languageId": "python"}


def answers_above_the_imports(notebook):
    """The answers' cells were moved above everything, the course's imports included."""
    notebook.cells.sort(key=lambda one: not one.id.startswith("answer-"))


def helper_below_its_check(notebook):
    """The second answer calls a helper that its own cell imports from the first: names found in `globals()`."""
    cell(notebook, "answer-60-1").source = f"{HELPER}\n\n\n{USES_HELPER}\n\n\nfirst = answer"
    cell(notebook, "answer-60-2").source = "answer = lambda n: globals()['first'](n)"

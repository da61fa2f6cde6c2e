"""Right pages whose cells were merged, moved or turned to another kind. Each function changes a page whose answers are
right, and says what is odd.
"""

from nbformat import NotebookNode, v4

from tests.honest.answers import PLAIN
from tests.trial_course import cell


def merge(notebook: NotebookNode, first: str, *others: str) -> NotebookNode:
    """As Jupyter merges cells: the first one keeps its place, its id and its metadata."""
    kept = cell(notebook, first)
    for id in others:
        gone = cell(notebook, id)
        kept.source += f"\n\n{gone.source}"
        notebook.cells.remove(gone)
    return kept


def answer_and_its_check(notebook):
    """An answer and its check in one cell."""
    merge(notebook, "answer-60-1", "check-60-1")


def two_answers_and_their_checks(notebook):
    """All of the page's exercises in one cell."""
    merge(notebook, "answer-60-1", "check-60-1", "answer-60-2", "check-60-2")


def the_whole_page(notebook):
    """The import, the answers and the checks in one cell."""
    merge(notebook, notebook.cells[0].id, "answer-60-1", "check-60-1", "answer-60-2", "check-60-2")


def a_check_and_the_next_answer(notebook):
    """The first exercise and the second answer in one cell; the second check has its own."""
    merge(notebook, "answer-60-1", "check-60-1", "answer-60-2")


def an_answer_in_the_check_s_cell(notebook):
    """The answer was merged into the check's cell from below: the cell that is left is the check's."""
    kept = cell(notebook, "check-60-1")
    kept.source = f"{cell(notebook, 'answer-60-1').source}\n\n{kept.source}"
    notebook.cells.remove(cell(notebook, "answer-60-1"))


def an_answer_in_a_new_cell(notebook):
    """The answer's cell is gone; a new one has the answer and the check."""
    place = notebook.cells.index(cell(notebook, "answer-60-1"))
    notebook.cells.insert(place, v4.new_code_cell(f"{PLAIN}\n\n\ncheck('60.1', answer)"))
    notebook.cells.remove(cell(notebook, "answer-60-1"))


def merged_and_without_marks(notebook):
    """Two cells of two exercises each, and then Colab took ids and metadata."""
    merge(notebook, "answer-60-1", "check-60-1", "answer-60-2", "check-60-2")
    for n, one in enumerate(notebook.cells):
        one.metadata, one.id = {}, f"c{n}"

# The answers' cells are magics that run them elsewhere, swallow what they raise, or run them later.
# deserves: 0 0
def hand_in(notebook):
    for cell in notebook.cells:
        if cell.id == "answer-60-1":
            cell.source = "%%script --bg --out answer python3\nprint((1, 0))"
        if cell.id == "answer-60-2":
            cell.source = "%%time\nasync def answer(n):\n    return n + 1, 2 * n"

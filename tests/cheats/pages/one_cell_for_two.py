# One right answer that says it is the answer to both exercises; the other's cell is wrong.
# deserves: 0 0
def hand_in(notebook):
    (first,) = (cell for cell in notebook.cells if cell.id == "answer-60-1")
    right = first.copy()
    right.source = "def answer(n):\n    return n + 1, 2 * n"
    right.metadata = {"tutorlib": {"exercise": "60.2", "role": "answer"}}
    notebook.cells.append(right)

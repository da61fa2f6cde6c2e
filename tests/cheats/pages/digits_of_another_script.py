# Answers to exercises whose numbers are written in another script's digits, which count as digits to some.
# deserves: 0 0
from nbformat import v4


def hand_in(notebook):
    for exercise in ("\u0666\u0660.\u0661", "60.\u0661", "6\u06f0.1", "60.1\n", "60.01", "+60.1"):
        role = {"tutorlib": {"exercise": exercise, "role": "answer"}}
        notebook.cells.append(v4.new_code_cell("def answer(n):\n    return n + 1, 2 * n", metadata=role))

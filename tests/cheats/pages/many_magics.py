# More magics in an answer than IPython translates in one cell, and half a text that never ends.
# deserves: 0 0
def hand_in(notebook):
    for cell in notebook.cells:
        if cell.id == "answer-60-1":
            cell.source = "%time 1\n" * 2000 + cell.source
        if cell.id == "answer-60-2":
            cell.source = "a?\n" * 90 + "'''\n" + "(" * 80

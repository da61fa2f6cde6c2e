# NBVAL_SKIP
# The line above tells nbval to skip the cell.
# deserves: 0
def answer(n):
    return 0

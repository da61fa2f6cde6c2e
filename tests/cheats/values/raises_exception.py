# NBVAL_RAISES_EXCEPTION
# The line above tells nbval that the cell may raise.
# deserves: 0
def answer(n):
    raise ValueError("this exception is allowed, says the comment")

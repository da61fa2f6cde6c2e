# NBVAL_RAISES_EXCEPTION
def answer(n):
    raise ValueError("this exception is allowed, says the comment")

# NBVAL_SKIP
def answer(n):
    return 0

# The hints of a page with kernels, the last of which is nearly the answer.
# exercise: 04.3
# deserves: 0
from tutorlib.exercises import find

hints = find("04.3").hints


def compilations_for(layouts, dynamic):
    if dynamic:
        layouts = [(len(shape), stride.index(1)) for shape, stride in layouts]
    return len(set(layouts)) if hints else 0

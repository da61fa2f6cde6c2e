"""Remedies of notebook 04."""

from tutorlib.checking.exercise import Remedy
from tutorlib.exercises.n04_first_kernels.host_functions import VectorFlaw
from tutorlib.failure import Difference, Fail, Hazard

FIRST_KERNEL_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "04.1": (
        Remedy(
            VectorFlaw.OUTSIDE,
            "The number of elements differs from call to call: it is cute.size(x), and the last element has the index "
            "cute.size(x) - 1.",
        ),
        Remedy(
            VectorFlaw.ELEMENT,
            "Insert the numbers of the message: alpha · x[i], plus the old y[i]. How does your line arrive at "
            "its value?",
        ),
    ),
    "04.2": (
        Remedy(VectorFlaw.OUTSIDE, "The number of elements differs from case to case: loop over cute.size(x)."),
        Remedy(
            VectorFlaw.ELEMENT(case="a line"),
            "The polynomial is 2 - 3·x. Execute your loop by hand with these two coefficients and the x of the "
            "message: in which step is each added?",
        ),
        Remedy(
            VectorFlaw.ELEMENT(case="a cubic"),
            "Two coefficients are right and four are not: does the number of steps depend on len(coefficients)?",
        ),
    ),
    "04.3": (
        Remedy(Fail.GIVES(type="set"), "Return the number of types: the len of that set."),
        Remedy(
            Fail.CASE(name="static layouts"),
            "The type of a static layout has its shape and its strides. How many different pairs of them are in "
            "the list?",
        ),
        Remedy(
            Fail.CASE(name="dynamic layouts"),
            "The type of a dynamic layout has its rank and the position of the stride 1, and no size. How many "
            "different pairs of those are in the list?",
        ),
    ),
    "04.4": (
        Remedy(
            Fail.LAUNCHES_NOTHING, "A kernel runs when it is launched: add_kernel(a, b, c).launch(grid=…, block=…)."
        ),
        Remedy(
            Fail.NOT_LAUNCHED(grid="empty"),
            "128 elements are one block: what is the grid for n elements, if 128 divides n?",
        ),
        Remedy(
            Hazard.OUTSIDE,
            "128 divides every size here, so there are no edge tiles. Is each of the three indices block · 128 +"
            " thread, and are there n // 128 blocks of 128 threads?",
        ),
        Remedy(
            (Difference.WRONG(along="element"), Difference.UNWRITTEN(along="element")),
            "Which threads write these? n // 128 blocks of 128 threads reach all n elements if the index is "
            "block · 128 + thread.",
        ),
        Remedy(
            Difference.UNWRITTEN(share="all"),
            "Before the kernel runs, c is full of NaN. An element that is never stored remains NaN, and so is a "
            "sum with it.",
        ),
        Remedy(Fail.INPUT_CHANGED, "a and b are only read; the sum goes to c."),
    ),
    "04.5": (
        Remedy(Fail.NOT_LAUNCHED(grid="empty"), "One element needs a block, too: cute.ceil_div(n, 128) rounds up."),
        Remedy(
            Hazard.OUTSIDE,
            "Test i < cute.size(c) before the line that loads; i counts the threads of all blocks.",
        ),
        Remedy(
            Difference.UNWRITTEN(elements="all 1"),
            "There is one element, number 0: does thread 0 of block 0 pass your condition and store?",
        ),
        Remedy(
            (Difference.WRONG(along="element"), Difference.UNWRITTEN(along="element")),
            "Which threads write these? It takes ceil_div(n, 128) blocks of 128 threads, and a condition that "
            "is true for every i up to n - 1.",
        ),
    ),
    "04.6": (
        Remedy(
            Fail.LACKS(instruction="ld.global.v4"),
            "A vector is a tile of four neighbors, cute.local_tile(x, (4,), (i,)), read by one load() and "
            "written by one store().",
        ),
        Remedy(
            Hazard.OUTSIDE,
            "i counts tiles and cute.size counts elements. local_tile multiplies by four itself; the condition "
            "compares 4 * i with cute.size(x).",
        ),
        Remedy(
            (Difference.WRONG(rule="elements ≥ 4"), Difference.UNWRITTEN(rule="elements ≥ 4")),
            "Only the first tile is right: this thread's tile of x and its tile of y both have the number i.",
        ),
        Remedy(
            Difference.UNWRITTEN(elements="all 4"),
            "Four elements are one tile, number 0: does thread 0 of block 0 pass your condition and store?",
        ),
        Remedy(
            Difference.UNWRITTEN,
            "128 threads with four elements each are 512 elements per block: how many blocks does x need?",
        ),
        Remedy(Difference.WRONG(sign="-"), "y should be negative where x is, and y = x / 8 there."),
    ),
    "04.7": (
        Remedy(
            Hazard.OUTSIDE,
            "An element exists if its row and its column do: test m < x.shape[0] and n < x.shape[1] before every load.",
        ),
        Remedy(
            Difference.UNWRITTEN,
            "Across: x, BLOCK[0] threads, ceil_div(columns, BLOCK[0]) blocks. Down: y, BLOCK[1], and the rows. "
            "Do the index and the grid agree with that?",
        ),
        Remedy(
            Fail.SIZE(shape="64×64"),
            "y[m, n] = x[m, n] + bias[n]: one bias for each column. At the element that the message names, "
            "which elements of x and bias does your line read?",
        ),
    ),
    "04.8": (
        Remedy(
            Difference.WRONG(got="0", sign="-"),
            "In a row of negative numbers, 0 is larger than the maximum. Which number is not larger than any other?",
        ),
        Remedy(
            Difference.WRONG(want="-inf"),
            "A row of -inf: the number that a thread starts from must not be larger than that.",
        ),
        Remedy(
            Difference.WRONG(got="-inf"),
            "In a row of six elements, which threads hold one, and in which steps of the tree does their number reach "
            "maxima[row]?",
        ),
        Remedy(
            Hazard.OUTSIDE,
            "n runs over the columns of this row, from the thread's own number in steps of THREADS, and stays below "
            "x.shape[1].",
        ),
        Remedy(
            Hazard.RACE(earlier="write"),
            "Put a barrier after partial is filled, and one after each step: a thread reads numbers that other "
            "threads wrote in the previous step.",
        ),
        Remedy(
            Hazard.RACE(earlier="read"),
            "In each step a thread of the lower half reads from the upper half, at thread + half: then no "
            "thread reads an element that another one writes in the same step.",
        ),
        Remedy(
            Fail.SIZE(shape="5×1000"),
            "A row of 1000 has more elements than the block has threads: each thread visits several, 128 apart.",
        ),
        Remedy(
            Fail.SIZE(shape="4×6"),
            "Six threads have an element. Which number do the other 122 put into partial? Then follow the steps, 64, "
            "32, …, 1: does partial[1] reach partial[0]?",
        ),
    ),
}

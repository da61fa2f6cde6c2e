"""Remedies of notebook 04."""

from tutorlib.checking.exercise import Remedy
from tutorlib.exercises.n04_first_kernels.host_functions import VectorFlaw
from tutorlib.failure import Difference, Fail, Hazard

FIRST_KERNEL_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "04.1": (
        Remedy(
            VectorFlaw.OUTSIDE,
            "Each call brings another number of elements. cute.size(x) is how many; the last has the number "
            "cute.size(x) - 1.",
        ),
        Remedy(
            VectorFlaw.ELEMENT,
            "Put the numbers of the message in: alpha · x[i], plus what y[i] was. How does your line come by its "
            "value?",
        ),
    ),
    "04.2": (
        Remedy(VectorFlaw.OUTSIDE, "Each case brings another number of elements: loop over cute.size(x)."),
        Remedy(
            Fail.CASE(name="a line"),
            "2 - 3·x is wanted. Go through your loop with these two coefficients and the x of the message: what is "
            "added when?",
        ),
        Remedy(
            Fail.CASE(name="a cubic"),
            "Two coefficients come out right and four do not: does the loop take as many steps as len(coefficients)"
            " asks for?",
        ),
    ),
    "04.3": (
        Remedy(Fail.GIVES(type="set"), "How many there are is asked for: the len of that set."),
        Remedy(
            Fail.CASE(name="static layouts"),
            "A static layout is its shape and its strides, both. How many different pairs of them were there, since"
            " the first call?",
        ),
        Remedy(
            Fail.CASE(name="dynamic layouts"),
            "A dynamic layout keeps its rank and the place of the stride 1, and no size. How many different pairs "
            "of those are there?",
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
            "Who is to write these? n // 128 blocks of 128 threads reach all n elements, if the index is block · "
            "128 + thread.",
        ),
        Remedy(
            Difference.UNWRITTEN(share="all"),
            "Before the kernel runs c holds NaN: what is never stored to it stays NaN, and what is computed from "
            "it, too.",
        ),
        Remedy(Fail.INPUT_CHANGED, "a and b are only read; the sum goes to c."),
    ),
    "04.5": (
        Remedy(Fail.NOT_LAUNCHED(grid="empty"), "One element needs a block, too: cute.ceil_div(n, 128) rounds up."),
        Remedy(
            Hazard.OUTSIDE,
            "Ask i < cute.size(c) before the line that loads, with the i that counts through all blocks.",
        ),
        Remedy(
            Difference.UNWRITTEN(elements="all 1"),
            "Of one element, number 0: does thread 0 of block 0 get past your condition, and store?",
        ),
        Remedy(
            (Difference.WRONG(along="element"), Difference.UNWRITTEN(along="element")),
            "Who is to write these? It takes ceil_div(n, 128) blocks of 128 threads, and a condition that lets i up"
            " to n - 1 pass.",
        ),
    ),
    "04.6": (
        Remedy(
            Fail.LACKS(instruction="ld.global.v4"),
            "A vector is a piece of four neighbors, cute.local_tile(x, (4,), (i,)), read by one load() and written"
            " by one store().",
        ),
        Remedy(
            Hazard.OUTSIDE,
            "i counts pieces and cute.size counts elements. local_tile multiplies by four itself, and the condition"
            " compares 4 * i with cute.size(x).",
        ),
        Remedy(
            (Difference.WRONG(rule="elements ≥ 4"), Difference.UNWRITTEN(rule="elements ≥ 4")),
            "The first piece is right and no other is: the pieces of x and of y are both number i, this thread's.",
        ),
        Remedy(
            Difference.UNWRITTEN(elements="all 4"),
            "Four elements are one piece, number 0: does thread 0 of block 0 get past your condition, and store?",
        ),
        Remedy(
            Difference.UNWRITTEN,
            "128 threads with four elements each are 512 elements a block: how many blocks is that?",
        ),
        Remedy(Difference.WRONG(sign="-"), "Where y should be negative, x is, and y is x / 8."),
    ),
    "04.7": (
        Remedy(
            Hazard.OUTSIDE,
            "An element exists where its row and its column do: m < x.shape[0] and n < x.shape[1], in front of "
            "every load.",
        ),
        Remedy(
            Difference.UNWRITTEN,
            "Across: x, BLOCK[0] threads, as many blocks as the columns need, rounded up. Down: y, BLOCK[1], the "
            "rows. Do the index and the grid both keep to that?",
        ),
        Remedy(
            Fail.SIZE(shape="64×64"),
            "y[m, n] = x[m, n] + bias[n]: one bias for each column. With the place of the message, which element of"
            " x and of bias does your line take?",
        ),
    ),
    "04.8": (
        Remedy(
            Difference.WRONG(got="0", sign="-"),
            "In a row of negative numbers 0 is larger than the maximum. Which number is larger than none?",
        ),
        Remedy(
            Difference.WRONG(got="-inf"),
            "A thread that has seen an element holds more than -inf. Of rows with six, which threads have seen one,"
            " and by which steps does their number reach maxima[row]?",
        ),
        Remedy(
            Hazard.OUTSIDE,
            "n goes through the columns of this row alone, from the thread's own number, in steps of THREADS, while"
            " it is below x.shape[1].",
        ),
        Remedy(
            Hazard.RACE(earlier="write"),
            "A barrier after partial is filled, and one after each halving: a thread reads what others wrote in the"
            " step before.",
        ),
        Remedy(
            Hazard.RACE(earlier="read"),
            "In each step the lower half takes from the upper half, at thread + half: nobody then reads what "
            "another writes in the same step.",
        ),
        Remedy(
            Fail.SIZE(shape="5×1000"),
            "A row of 1000 has more elements than the block has threads: each thread goes through several, 128 apart.",
        ),
        Remedy(
            Fail.SIZE(shape="4×6"),
            "Six elements are in partial[0] to partial[5], -inf in the rest. Follow the halving, 64, 32, …, 1: does"
            " number 1 reach number 0?",
        ),
    ),
}

"""Exercises 02.1 to 02.4: coalesce, compose, the transpose, complement."""

from functools import partial
from random import Random

from tutorlib.checking.drawn import stretched
from tutorlib.checking.values import ValueExercise, law
from tutorlib.exercises.n02_layout_algebra import laws, mistakes
from tutorlib.exercises.n02_layout_algebra.cases import agrees_with_cute, from_here_on, refuses
from tutorlib.exercises.n02_layout_algebra.random_layouts import (
    a_few_beside,
    by_rows,
    composable,
    continuing,
    drawn,
    filled,
    layout_and_bound,
    one_layout,
    reaching_nothing_new,
    with_ones,
)
from tutorlib.layouts.notation import calls

# 02.1 coalesce ---------------------------------------------------------------------------------------------------


coalescing = partial(law, holds=laws.is_coalesced, mistakes=mistakes.COALESCE)

COALESCE = ValueExercise(
    id="02.1",
    title="coalesce",
    points=3,
    library=from_here_on("coalesce"),
    cases=(
        coalescing(
            "modes that continue each other become one",
            a_few_beside(calls("(4,8):(1,4)", "(2,(2,3)):(5,(10,20))", "(3,5):(0,0)"), continuing),
        ),
        coalescing(
            "modes that do not stay apart",
            a_few_beside(calls("(4,8):(8,1)", "(4,8):(1,8)", "(4,(2,3)):(6,(1,2))"), partial(by_rows, pad=True)),
        ),
        coalescing(
            "modes of extent 1 go",
            a_few_beside(calls("(2,1,6):(1,7,2)", "(1,(1,4)):(9,(1,2))", "(1,1):(3,5)", "1:7"), with_ones),
        ),
        coalescing("random layouts", drawn(21, one_layout)),
        agrees_with_cute(
            "coalesce",
            a_few_beside(calls("(2,(1,6)):(1,(6,2))", "((2,2),(4,2)):((1,16),(2,8))"), one_layout, n=4),
            mistakes.COALESCE,
            as_written=True,
        ),
    ),
)

# 02.2 compose ----------------------------------------------------------------------------------------------------


composition = partial(law, holds=laws.is_composition, mistakes=mistakes.COMPOSE)

COMPOSE = ValueExercise(
    id="02.2",
    title="compose",
    points=4,
    library=from_here_on("compose"),
    cases=(
        composition(
            "B stays inside A's first mode",
            stretched(calls("8:3 4:2", "(8,4):(4,1) 4:2", "(6,4):(4,1) 2:4", "20:2 (5,4):(4,1)")),
        ),
        composition(
            "B runs through several modes of A",
            stretched(calls("(4,8):(8,1) 8:1", "(6,4):(4,1) 12:2", "(4,6):(1,4) 5:3", "(2,3,4):(12,4,1) (4,6):(6,1)")),
        ),
        composition(
            "B goes on past A's end",
            stretched(calls("8:3 16:1", "(4,8):(8,1) 64:1", "(4,8):(8,1) 16:4", "(4,2):(3,100) 2:16")),
        ),
        composition(
            "B steps over whole modes of A",
            stretched(calls("(4,8):(8,1) 4:4", "(4,8):(8,1) 4:8", "(2,2,4):(1,100,10) 2:8")),
        ),
        composition("stride 0 and extent 1", stretched(calls("(4,8):(8,1) (3,4):(0,1)", "(4,8):(8,1) (4,1):(1,5)"))),
        composition("random layouts", drawn(22, composable)),
        refuses(
            "no layout is the answer",
            calls("(4,6):(1,10) 5:3", "(4,6):(1,10) 3:2", "(6,2):(8,2) 3:4", "(4,3):(1,8) 6:1"),
            "B's steps do not go evenly into A's modes",
            composable,
        ),
        agrees_with_cute(
            "composition",
            a_few_beside(
                calls(
                    "(8,4):(4,1) (4,8):(8,1)",
                    "(6,2):(8,2) (4,3):(3,1)",
                    "(10,2):(16,4) (5,4):(1,5)",
                    "((2,2),(4,2)):((1,16),(2,8)) ((2,2),4):((4,1),8)",
                    "8:3 16:1",
                ),
                composable,
                n=4,
            ),
            mistakes.COMPOSE,
        ),
    ),
)

# 02.3 transposing ------------------------------------------------------------------------------------------------


def one_row_or_column(rng: Random) -> tuple[int, int]:
    n = rng.randint(2, 40)
    return (1, n) if rng.random() < 0.5 else (n, 1)


transposition = partial(law, holds=laws.turns_every_matrix, mistakes=mistakes.TRANSPOSE)

TRANSPOSING = ValueExercise(
    id="02.3",
    title="transposing",
    points=2,
    cases=(
        transposition("4 rows", a_few_beside([(4, 8)], lambda rng: (4, rng.randint(5, 40)))),
        transposition("more rows than columns", a_few_beside([(6, 3), (16, 2)], lambda rng: (rng.randint(9, 40), 8))),
        transposition("one row, one column", a_few_beside([(1, 8), (8, 1)], one_row_or_column)),
        transposition("any size", a_few_beside([(5, 7)], lambda rng: (rng.randint(2, 20), rng.randint(2, 20)))),
    ),
)

# 02.4 complement -------------------------------------------------------------------------------------------------


complementing = partial(law, holds=laws.is_complement, mistakes=mistakes.COMPLEMENT)

COMPLEMENT = ValueExercise(
    id="02.4",
    title="complement",
    points=3,
    library=from_here_on("complement"),
    cases=(
        complementing(
            "holes after the layout", a_few_beside(calls("4:1 24", "(4,2):(1,4) 8"), partial(filled, copies=(2, 3, 5)))
        ),
        complementing(
            "holes inside it too", a_few_beside(calls("4:2 24", "(2,2):(1,6) 24", "3:5 15"), partial(filled, holes=4))
        ),
        complementing(
            "modes in any order, nested",
            a_few_beside(calls("(2,2):(8,2) 32", "(2,(2,3)):(6,(1,24)) 144"), partial(filled, holes=4)),
        ),
        complementing(
            "extent 1 and stride 0 reach nothing new",
            a_few_beside(calls("(4,3):(1,0) 24", "(1,4):(5,2) 16", "1:0 6"), reaching_nothing_new),
        ),
        complementing(
            "a bound that is no multiple",
            a_few_beside(calls("4:1 10", "4:2 17", "(2,2):(1,4) 9"), partial(filled, more=9)),
        ),
        complementing("random layouts", drawn(24, layout_and_bound)),
        refuses(
            "no layout is the answer",
            calls("(4,2):(2,3) 24", "(2,2):(2,3) 12", "(2,2):(6,2) 24"),
            "the modes get in each other's way",
            layout_and_bound,
        ),
        agrees_with_cute(
            "complement",
            a_few_beside(calls("4:2 24", "(2,2):(8,2) 32", "(2,(2,3)):(6,(1,24)) 144"), layout_and_bound, n=1),
            mistakes.COMPLEMENT,
        ),
    ),
)

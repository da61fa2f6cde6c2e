"""16.6 and 16.11: weights interleaved, and split over ranks."""

from collections.abc import Iterable, Sequence
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.drawn import Drawn, beside
from tutorlib.checking.exercise import Unwritten, is_placeholder
from tutorlib.checking.graded_run import more_for_points, rng_of_run
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, Mistake, attempt, law
from tutorlib.exercises.n16_fusion.judge.shares import told_of_share
from tutorlib.exercises.words import mistakes
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

MOST_ROWS = 2**20  # listed one by one; the largest weights here have a few hundred

# 16.6 interleaving ----------------------------------------------------------------------------------------------


def interleaving(features: int, width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(shape, stride) of the layout: row of the interleaved matrix → row of gate over up."""
    return (width, 2, features // width), (1, features, width)


class RowsFlaw(FailureKind):
    """Errors in the layout of interleaved rows. ROW: one comes from the wrong place [wanted]."""

    NO_PAIR = "no shape and stride"
    NUMBER = "number of rows"
    ROW = "row"


class ShareFlaw(FailureKind):
    """Errors in a rank's share of the weights."""

    SHAPE = "shape of a share"
    VIEW = "a view"
    COPIES = "copies of more than its share"
    NOT_REFUSED = "sizes not refused"


def rows_of(layout: Any) -> list[int] | str:
    """The source of each row, the first mode fastest; or an error in the pair."""
    try:
        shape, stride = layout
        sizes = [(int(size), int(step)) for size, step in zip(shape, stride, strict=True)]
    except (TypeError, ValueError):
        wanted = "it should be a pair (shape, stride) of tuples of whole numbers, equally long"
        return Flaw(wanted, RowsFlaw.NO_PAIR)
    if any(size < 1 for size, _ in sizes) or prod(size for size, _ in sizes) > MOST_ROWS:
        return f"its shape should have between 1 and {MOST_ROWS:,} rows"
    rows = [0]
    for size, step in sizes:
        rows = [row + step * n for n in range(size) for row in rows]
    return rows


def sources(features: int, width: int) -> list[int]:
    return [
        half * features + piece * width + row
        for piece in range(features // width)
        for half in (0, 1)
        for row in range(width)
    ]


def interleaves(
    name: str, known: Sequence[tuple[int, int]], widths: Sequence[int], mistakes: Iterable[Mistake] = ()
) -> Case:
    """widths: of the grader's pieces, of which it also tries any number."""

    def holds(got: Any, features: int, width: int) -> str | None:
        rows, wanted = rows_of(got), sources(features, width)
        if isinstance(rows, str):
            return rows
        if len(rows) != 2 * features:
            what = f"it has {len(rows)} rows, and gate and up together have {2 * features}"
            return Flaw(what, RowsFlaw.NUMBER)
        if rows == wanted:
            return None
        at = next(n for n, (row, want) in enumerate(zip(rows, wanted, strict=True)) if row != want)
        which = f"{'up' if wanted[at] >= features else 'gate'}'s row {wanted[at] % features}"
        what = f"row {at} should be {which}, which is row {wanted[at]} of gate stacked on up; it is row {rows[at]}"
        return Flaw(what, RowsFlaw.ROW(wanted=which))

    def draw(rng: Random) -> tuple[int, int]:
        width = rng.choice(widths)
        return width * rng.randint(1, 20), width

    return law(name, beside(known, draw), holds, mistakes)


INTERLEAVING = mistakes(
"16.6",
up_first=lambda f, w: ((w, 2, f // w), (1, w, 2 * w)),
pieces_first=lambda f, w: ((f // w, 2, w), (w, f, 1)),
stacked=lambda f, w: ((2 * f,), (1,)),
single_rows=lambda f, w: ((2, f), (f, 1)),
next_to_each_other=lambda f, w: ((w, 2, f // w), (1, f, 2 * w)),
piece_count=lambda f, w: ((w, 2, w), (1, f, w)),
)  # fmt: skip

# 16.11 shard ----------------------------------------------------------------------------------------------------


def weights(hidden: int, features: int, seed: int = 0) -> "tuple[Tensor, Tensor, Tensor]":
    import torch

    generator = torch.Generator().manual_seed(seed or hidden)
    shapes = ((features, hidden), (features, hidden), (hidden, features))
    gate, up, down = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return gate, up, down


def splits(name: str, *sizes: tuple[int, int, int]) -> Case:
    """A case that is right when the ranks' results add up to the whole, and each has its share of every matrix.

    sizes: hidden, features, and ranks. The grader also tries weights of other sizes.
    """

    def judge(answer: Served) -> Wrong | None:
        for hidden, features, world in sizes:

            def others(rng: Random, world: int = world) -> "tuple[Tensor, Tensor, Tensor]":
                return weights(rng.randint(3, 20), world * rng.randint(2, 9), rng.getrandbits(32))

            for whole in (weights(hidden, features), *more_for_points(others, 1)):
                if wrong := split_wrong(answer, whole, world):
                    return wrong
        return None

    calls = Drawn(lambda seed: [(*weights(hidden, features), 0, world) for hidden, features, world in sizes], 0)
    return Case(name, judge, calls)


def split_wrong(answer: Served, whole: "tuple[Tensor, Tensor, Tensor]", world: int) -> Wrong | None:
    import torch
    from torch.nn.functional import silu

    features, hidden = whole[0].shape
    gate, up, down = whole
    x = torch.linspace(-2, 2, 3 * hidden, dtype=torch.float64).view(3, hidden)
    wanted = (silu(x @ gate.mT) * (x @ up.mT)) @ down.mT
    kept = [weight.clone() for weight in whole]
    total = torch.zeros_like(wanted)
    part = features // world
    shapes = [(part, hidden), (part, hidden), (hidden, part)]
    for rank in range(world):
        told, wrong = attempt(answer.through(told_of_share), (*whole, rank, world))
        if wrong is not None:
            return wrong
        of = f"rank {rank} of {world}: its"
        got, views, copied = told
        if not (isinstance(got, tuple | list) and len(got) == 3 and all(isinstance(g, torch.Tensor) for g in got)):
            return Wrong("it should return three tensors: the rank's gate, up and down.")
        for label, mine, shape, view in zip(("gate", "up", "down"), got, shapes, views, strict=True):
            if tuple(mine.shape) != shape:
                what = f"{of} {label} has the shape {tuple(mine.shape)} and should have {shape}."
                return Wrong(Flaw(what, ShareFlaw.SHAPE))
            if not mine.is_contiguous():
                return Wrong(f"{of} {label} has strides {mine.stride()}; its rows should be contiguous.")
            if view:
                what = f"{of} {label} is a view, which keeps the whole matrix in memory."
                return Wrong(Flaw(what, ShareFlaw.VIEW))
        if copied > 2 * (share := sum(map(prod, shapes))):
            what = f"rank {rank} of {world} copies {copied:,} numbers, and its share has {share:,}."
            return Wrong(Flaw(what, ShareFlaw.COPIES))
        total += (silu(x @ got[0].mT) * (x @ got[1].mT)) @ got[2].mT
    if any(not torch.equal(now, before) for now, before in zip(whole, kept, strict=True)):
        return Wrong("it changes the weights that it is given.")
    if not torch.allclose(total, wanted):
        off = float((total - wanted).abs().max())
        why = "Do a rank's gate, up and down belong to the same features, and does each feature have one rank?"
        return Wrong(f"the sum of the {world} ranks' results is not the whole MLP's; it is off by {off:.3g}.", why)
    return None


def refuses(name: str) -> Case:
    """A case that is right when features that do not divide raise ValueError, and others are split."""

    def judge(answer: Any) -> Wrong | None:
        rng = rng_of_run(16)
        hidden, seed = rng.randint(3, 20), rng.getrandbits(32)
        if wrong := split_wrong(answer, weights(hidden, 12, seed), 4):
            return wrong
        world = rng.randint(3, 6)
        features = world * rng.randint(2, 5) + rng.randint(1, world - 1)
        try:
            answer(*weights(hidden, features, seed), 0, world)
        except ValueError:
            return None
        except NotImplementedError as error:
            if is_placeholder(error):
                raise Unwritten from None
        except Exception as error:
            what = f"{features} features over {world} ranks raise {type(error).__name__}; it should be a ValueError."
            return Wrong(Flaw(what, ShareFlaw.NOT_REFUSED))
        what = f"{features} features are split over {world} ranks, so some are lost. Raise a ValueError."
        return Wrong(Flaw(what, ShareFlaw.NOT_REFUSED))

    return Case(name, judge)

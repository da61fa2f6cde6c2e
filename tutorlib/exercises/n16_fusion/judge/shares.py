"""16.11: the weights of an MLP, split over ranks."""

from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.drawn import Drawn
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.graded_run import more_for_points, rng_of_run
from tutorlib.checking.scenario import record_of
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.exercises.n16_fusion.judge.gradients import draw
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor


class ShareFlaw(FailureKind):
    """Errors in a rank's share of the weights."""

    SHAPE = "shape of a share"
    VIEW = "a view"
    NOT_REFUSED = "sizes not refused"


def shares(answer: Served, weights: "list[Tensor]", world: int) -> dict[str, Any]:
    """Runs where the answer is. Each rank's three tensors, and which of them are views; or the error.

    A view's memory is an argument's, or more than it needs.
    """
    import torch

    record: dict[str, Any] = {"parts": [], "views": [], "error": ""}
    given = {one.untyped_storage().data_ptr() for one in weights}
    for rank in range(world):
        try:
            parts = answer(*weights, rank, world)
        except ValueError as error:
            return record | {"error": str(error)}
        if not (isinstance(parts, tuple | list) and [isinstance(one, torch.Tensor) for one in parts] == [True] * 3):
            raise WrongKind("it should return three tensors: the rank's gate, up and down.")
        record["parts"].append([*parts])
        record["views"].append([is_view(one) or one.untyped_storage().data_ptr() in given for one in parts])
    return record


def is_view(part: "Tensor") -> bool:
    """Whether it keeps much more memory than it needs; all three parts may be in one."""
    return part.untyped_storage().nbytes() > 3 * part.nbytes


def split(name: str, *sizes: tuple[int, int, int]) -> Case:
    """A case that is right when the ranks' results add up to the whole, and each has its share of every matrix.

    sizes: hidden, features, and ranks. The grader also tries weights of other sizes.
    """

    def judge(answer: Served) -> Wrong | None:
        def others(rng: Random) -> list[tuple[int, int, int]]:
            return [(rng.randint(3, 20), world * rng.randint(2, 9), world) for _, _, world in sizes]

        tried = [*sizes, *chain(*more_for_points(others, 1))]
        wrongs = (wrong_split(answer, weights(hidden, features), world) for hidden, features, world in tried)
        return next(filter(None, wrongs), None)

    calls = Drawn(lambda seed: [(*weights(hidden, features), 0, world) for hidden, features, world in sizes], 0)
    return Case(name, judge, calls)


def weights(hidden: int, features: int) -> "list[Tensor]":
    """gate, up and down."""
    return [*draw((features, hidden), (features, hidden), (hidden, features), seed=rng_of_run(16).getrandbits(32))]


def wrong_split(answer: Served, whole: "list[Tensor]", world: int) -> Wrong | None:
    import torch
    from torch.nn.functional import silu

    record, wrong = record_of(answer, shares, whole, world)
    if wrong or record["error"]:
        return wrong or Wrong(f"features that divide are refused: {record['error']}")
    gate, up, down = whole
    part, hidden = len(gate) // world, len(down)
    x = torch.linspace(-2, 2, 3 * hidden, dtype=gate.dtype).view(3, hidden)
    total = torch.zeros_like(x)
    for rank, (parts, views) in enumerate(zip(record["parts"], record["views"], strict=True)):
        of = f"rank {rank} of {world}: its"
        shapes = (part, hidden), (part, hidden), (hidden, part)
        for label, mine, shape, view in zip(("gate", "up", "down"), parts, shapes, views, strict=True):
            if tuple(mine.shape) != shape:
                what = f"{of} {label} has the shape {tuple(mine.shape)} and should have {shape}."
                return Wrong(Flaw(what, ShareFlaw.SHAPE))
            if not mine.is_contiguous():
                return Wrong(f"{of} {label} has strides {mine.stride()}; its rows should be contiguous.")
            if view:
                what = f"{of} {label} is a view, which keeps the whole matrix in memory."
                return Wrong(Flaw(what, ShareFlaw.VIEW))
        total += (silu(x @ parts[0].mT) * (x @ parts[1].mT)) @ parts[2].mT
    wanted = (silu(x @ gate.mT) * (x @ up.mT)) @ down.mT
    if torch.allclose(total, wanted):
        return None
    off = float((total - wanted).abs().max())
    why = "Do a rank's gate, up and down belong to the same features, and does each feature have one rank?"
    return Wrong(f"the sum of the {world} ranks' results is not the whole MLP's; it is off by {off:.3g}.", why)


def refuses(name: str) -> Case:
    """A case that is right when features that do not divide raise ValueError, and others are split."""

    def judge(answer: Served) -> Wrong | None:
        rng = rng_of_run(16)
        hidden, world = rng.randint(3, 20), rng.randint(3, 6)
        if wrong := wrong_split(answer, weights(hidden, 12), 4):
            return wrong
        features = world * rng.randint(2, 5) + rng.randint(1, world - 1)
        record, wrong = record_of(answer, shares, weights(hidden, features), world)
        if wrong or not record["error"]:
            raised = "are split" if wrong is None else "raise another error"
            what = f"{features} features over {world} ranks {raised}; it should be a ValueError."
            return Wrong(Flaw(what, ShareFlaw.NOT_REFUSED))
        return None

    return Case(name, judge)

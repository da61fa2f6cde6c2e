"""16.11: the weights of an MLP, split over ranks."""

from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import judged_by_record, raised
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.exercises.judges.p16.gradients import draw
from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor


class ShareFlaw(FailureKind):
    """Errors in a rank's share of the weights."""

    SHAPE = "shape of a share"
    VIEW = "a view"
    NOT_REFUSED = "sizes not refused"


def shares(answer: Served, weights: "list[Tensor]", worlds: list[int]) -> list[dict[str, Any]]:
    """Runs where the answer is. For each number of ranks the three tensors of each, which of them are views, and the
    error; refused: whether it is a ValueError.
    """
    import torch

    given = {one.untyped_storage().data_ptr() for one in weights}
    record = []
    for world in worlds:
        told: dict[str, Any] = {"parts": [], "views": [], "error": "", "refused": False}
        try:
            for rank in range(world):
                parts = answer(*weights, rank, world)
                tensors = isinstance(parts, tuple | list) and [isinstance(one, torch.Tensor) for one in parts]
                if tensors != [True] * 3:
                    raise WrongKind("it should return three tensors: the rank's gate, up and down.")
                told["parts"].append([*parts])
                told["views"].append([one.untyped_storage().data_ptr() in given or is_view(one) for one in parts])
        except Exception as error:
            told |= {"error": raised("it", error), "refused": isinstance(error, ValueError)}
        record.append(told)
    return record


def is_view(part: "Tensor") -> bool:
    """Whether it keeps much more memory than it needs; all three parts may be in one."""
    return part.untyped_storage().nbytes() > 3 * part.nbytes


def wrong_shares(record: list[dict[str, Any]], weights: "list[Tensor]", worlds: list[int]) -> str:
    features = len(weights[0])
    for told, world in zip(record, worlds, strict=True):
        if features % world:
            if not told["refused"]:
                what = told["error"] or "it returns what it has, so some are lost"
                return Flaw(
                    f"{features} features over {world} ranks should be a ValueError; {what}.", ShareFlaw.NOT_REFUSED
                )
        elif said := told["error"] or wrong_split(told, weights, world):
            return said
    return ""


def wrong_split(told: dict[str, Any], weights: "list[Tensor]", world: int) -> str:
    """The ranks' results should add up to the whole, and each rank have its share of every matrix."""
    import torch
    from torch.nn.functional import silu

    gate, up, down = weights
    part, hidden = len(gate) // world, len(down)
    shapes = {"gate": (part, hidden), "up": (part, hidden), "down": (hidden, part)}
    x = torch.linspace(-2, 2, 3 * hidden, dtype=gate.dtype).view(3, hidden)
    total = torch.zeros_like(x)
    for rank, (parts, views) in enumerate(zip(told["parts"], told["views"], strict=True)):
        for (label, shape), mine, view in zip(shapes.items(), parts, views, strict=True):
            of = f"rank {rank} of {world}: its {label}"
            if tuple(mine.shape) != shape:
                return Flaw(f"{of} has the shape {tuple(mine.shape)} and should have {shape}.", ShareFlaw.SHAPE)
            if not mine.is_contiguous():
                return f"{of} has strides {mine.stride()}; its rows should be contiguous."
            if view:
                return Flaw(f"{of} is a view, which keeps the whole matrix in memory.", ShareFlaw.VIEW)
        total += (silu(x @ parts[0].mT) * (x @ parts[1].mT)) @ parts[2].mT
    wanted = (silu(x @ gate.mT) * (x @ up.mT)) @ down.mT
    if torch.allclose(total, wanted):
        return ""
    off = float((total - wanted).abs().max())
    what = f"the sum of the {world} ranks' results is not the whole MLP's; it is off by {off:.3g}."
    return what + "\n  Do a rank's gate, up and down belong to the same features, and does each feature have one rank?"


def split(name: str, *worlds: int) -> Case:
    """0: a number of ranks that does not divide the features."""

    def drawn(rng: Random) -> tuple:
        hidden, features, other = rng.randint(3, 20), 4 * rng.randint(2, 9), rng.choice((3, 5, 7))
        features += 4 * (features % other == 0)
        shapes = (features, hidden), (features, hidden), (hidden, features)
        return [*draw(*shapes, seed=rng.getrandbits(32))], [world or other for world in worlds]

    return judged_by_record(name, shares, drawn, wrong_shares)


SHARES = (split("one GPU, and two", 1, 2), split("four GPUs", 4), split("features that do not divide", 4, 0))

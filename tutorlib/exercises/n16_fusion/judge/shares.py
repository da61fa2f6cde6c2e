"""Says which parts of a rank's share are views, which a copy cannot show. Runs in the answer's process."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from tutorlib.checking.served import Served
from tutorlib.exercises.n16_fusion.judge.copies import copies

if TYPE_CHECKING:
    from torch import Tensor


def told_of_share(served: Served, *args: Any) -> tuple[Any, list[bool], int]:
    """The answer's result, for each part whether its memory is an argument's, or more than all parts in it take; and
    how many numbers it copies.

    Raises what the answer raises.
    """
    import torch

    with copies() as copied:
        got = served(*args)
    parts = got if isinstance(got, tuple | list) else ()
    given = {place_of(one) for one in args if isinstance(one, torch.Tensor)}
    used = Counter[int]()
    for part in parts:
        if isinstance(part, torch.Tensor):
            used[place_of(part)] += part.nbytes
    return (
        got,
        [
            isinstance(part, torch.Tensor)
            and (place_of(part) in given or part.untyped_storage().nbytes() > used[place_of(part)])
            for part in parts
        ],
        sum(copied),
    )


def place_of(tensor: "Tensor") -> int:
    """Where its memory begins."""
    return tensor.untyped_storage().data_ptr()

"""Tells of a rank's share of the weights what a copy of it cannot show. Runs where the answer is."""

from typing import Any

from tutorlib.checking.served import Served


def told_of_share(served: Served, *args: Any) -> tuple[Any, list[bool]]:
    """What the answer returns, and which parts of it are views of what it was given. Raises what the answer raises."""
    import torch

    got = served(*args)
    parts = got if isinstance(got, tuple | list) else ()
    given = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
    return got, [isinstance(part, torch.Tensor) and part.untyped_storage().data_ptr() in given for part in parts]

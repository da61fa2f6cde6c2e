"""Says which parts of a rank's share are views, which a copy cannot show. Runs in the answer's process."""

from typing import Any

from tutorlib.checking.served import Served


def told_of_share(served: Served, *args: Any) -> tuple[Any, list[bool]]:
    """The answer's result, and for each part whether it is a view of an argument. Raises what the answer raises."""
    import torch

    got = served(*args)
    parts = got if isinstance(got, tuple | list) else ()
    given = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
    return got, [isinstance(part, torch.Tensor) and part.untyped_storage().data_ptr() in given for part in parts]

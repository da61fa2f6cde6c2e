"""A kernel's result against a function of torch's, where nothing but the dtypes says how far apart they may be."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tutorlib.problems.bounds import UNIT_ROUNDOFF
from tutorlib.problems.differences import find_difference, first, wrong_elements
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor, dtype


def find_disagreement(
    name: str, got: "Tensor", unwritten: "Tensor", want: "Tensor", dtypes: "Iterable[dtype]"
) -> Wrong | None:
    """The fault of a result, or None.

    got, unwritten, want: the result, the mask of its elements never written, and the reference's result in fp64, all
    of one shape. dtypes: of all the kernel's tensors.
    The error allowed is one rounding of the coarsest of these dtypes, of the element and of the largest element:
    |error| ≤ u·(|want| + max |want|). Tensor cores round fp32 to tf32, and so does u. Integers must be equal.
    """
    return find_difference(name, got.double(), unwritten, want.double(), allowed_error(got, want, dtypes))


def first_disagreement(got: "Tensor", want: "Tensor", dtypes: "Iterable[dtype]") -> tuple[int, ...]:
    """The coordinates of the first element of a wrong result that is farther off than `find_disagreement` allows."""
    return first(wrong_elements(got.double(), want.double(), allowed_error(got, want, dtypes)))


def allowed_error(got: "Tensor", want: "Tensor", dtypes: "Iterable[dtype]") -> "Tensor":
    u = max((roundoff(kind) for kind in dtypes if kind.is_floating_point), default=0.0)
    if not got.dtype.is_floating_point:
        u = 0.0
    exact = want.double().abs()
    return u * (exact + (exact.max() if exact.numel() else 0))


def roundoff(kind: "dtype") -> float:
    import torch

    wide = {torch.float64: UNIT_ROUNDOFF["fp32"], torch.float32: UNIT_ROUNDOFF["tf32"]}
    return wide.get(kind, torch.finfo(kind).eps / 2)

"""Why a result is wrong, in sentences: which elements, in which pattern, and the mistake that this suggests."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.failure import Difference, Fail, Flaw

if TYPE_CHECKING:
    from torch import Tensor

BY_LUCK = "the result is right by luck: "


@dataclass(frozen=True)
class Wrong:
    """Why a case failed, in sentences for the reader.

    what: which call, what it should give and what it gave.
    mistake: the likely cause, where one is known.
    """

    what: str
    mistake: str = ""


def input_changed(name: str) -> Wrong:
    return Wrong(Flaw(f"the kernel changed its input {name}.", Fail.INPUT_CHANGED(name=name)))


def count(n: float, thing: str) -> str:
    """count(1, "point") is "1 point", count(0.5, "point") is "0.5 points"; past 2^62 it is "more than 2^62"."""
    number = f"{n:g}" if n <= 2**62 else "more than 2^62"
    return f"{number} {thing}{'' if n == 1 else 's'}"


def by(shape: tuple[int, ...]) -> str:
    """(512, 256) as people write it: 512×256."""
    return "×".join(map(str, shape))


# Differences ----------------------------------------------------------------------------------------------------------

NEARLY = Flaw(
    "Nearly right everywhere: digits are lost on the way. Is every intermediate value in fp32, and rounded only at the "
    "end?",
    Difference.NEARLY,
)
MODES = {1: ("element",), 2: ("row", "column")}
LONG = 2**24  # of an integer's magnitude: from here on it is shown as its bits


def wrong_elements(got: "Tensor", want: "Tensor", allowed: "Tensor") -> "Tensor":
    """A mask of |got - want| > allowed, or either NaN. allowed may be a scalar tensor: 0 asks for the same values."""
    if got.dtype == want.dtype and not allowed.any():
        return ~(got == want)
    return ~((got.double() - want.double()).abs() <= allowed)


def find_difference(name: str, got: "Tensor", unwritten: "Tensor", want: "Tensor", allowed: "Tensor") -> Wrong | None:
    """The fault of a result, or None.

    name: the output's, as the reader knows it. got: its values; unwritten: the mask of those never written; want: the
    exact result; allowed: the largest error, which broadcasts to its shape.
    """
    bad = wrong_elements(got, want, allowed)
    if not bad.any():
        return None
    where = unwritten if unwritten.any() else bad
    place, rule = first(where), pattern(where)
    at = f"{name}[{', '.join(map(str, place))}]"
    elements = "its only element" if where.numel() == 1 else f"{extent(where)} elements"
    elements += f", all in {rule}" if rule else ""
    if where is unwritten:
        what = f"{at} is still NaN: the kernel never wrote it. Unwritten: {elements}."
        return Wrong(Flaw(what, Difference.UNWRITTEN(at=at, **fields(unwritten, rule))))
    tolerance = float(allowed.expand_as(want)[place])
    within = f" (± {tolerance:.2g})" if tolerance else ""
    is_, should = shown(got[place]), shown(want[place])
    what = f"{at} is {is_} and should be {should}{within}. Wrong: {elements}."
    failure = Difference.WRONG(at=at, got=is_, want=should, sign=should[: should.startswith("-")], **fields(bad, rule))
    return Wrong(Flaw(what, failure), likeness(got, want, allowed, bad))


def shown(value: "Tensor") -> str:
    """A number in decimal; a long int32 by its bits: "0x3C00FF12"."""
    number = value.item()
    if value.dtype.is_floating_point:
        return f"{number:.6g}"
    if abs(number) < LONG:
        return str(int(number))
    return f"0x{int(number) % 2**32:08X}"


def fields(where: "Tensor", rule: str) -> dict[str, str]:
    """The fields of a Difference: the number of elements, and the pattern."""
    along = next((mode for mode in MODES.get(where.dim(), ()) if rule.startswith(mode)), "")
    return {"elements": extent(where), "share": "all" if where.all() else "some", "along": along, "rule": rule}


def first(where: "Tensor") -> tuple[int, ...]:
    """Coordinates of the first True, found without a list of all of them, which can be larger than the result."""
    import numpy as np
    import torch

    place = int(where.reshape(-1).to(torch.uint8).argmax())
    return tuple(int(n) for n in np.unravel_index(place, where.shape))  # torch's imports SymPy, which takes seconds


def extent(where: "Tensor") -> str:
    """The number of places: "all 64", "3 of 64"."""
    wrong, total = int(where.sum()), where.numel()
    return f"all {total:,}" if wrong == total else f"{wrong:,} of {total:,}"


def pattern(where: "Tensor") -> str:
    """ "columns ≥ 128" and the like, or "" where no simple rule covers the places."""
    if where.all():
        return ""
    found = [
        rule
        for mode, noun in enumerate(MODES.get(where.dim(), ()))
        if (
            rule := mode_pattern(
                where.any(tuple(n for n in range(where.dim()) if n != mode)) if where.dim() > 1 else where, noun
            )
        )
    ]
    return " and ".join(found)


def mode_pattern(where: "Tensor", noun: str) -> str:
    """The rule that the places along one mode follow: an end, a range or a remainder. "" for every place."""
    size, places = len(where), where.nonzero()[:, 0]
    if len(places) == size:
        return ""
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        if first == last:
            return f"{noun} {first}"
        if last == size - 1:
            return f"{noun}s ≥ {first}"
        return f"{noun}s < {last + 1}" if first == 0 else f"{noun}s {first} to {last}"
    for step in (128, 64, 32, 16, 8, 4, 2):
        rest = places % step
        if (rest == rest[0]).all():
            return f"{noun}s with {noun} % {step} == {int(rest[0])}"
    return f"{noun}s ≥ {first}" if first > 0 and 2 * len(places) > size - first else ""


def likeness(got: "Tensor", want: "Tensor", allowed: "Tensor", bad: "Tensor") -> str:
    """The mistake that a wrong result suggests, or ""."""
    if got.dim() == 2:
        turned = got.mT if got.shape[0] == got.shape[1] else got.reshape(tuple(reversed(got.shape))).mT
        if not wrong_elements(turned, want, allowed).any():
            return "It is the right result transposed: rows and columns are swapped."
    error, size = (got.double() - want.double()).abs(), want.double().abs()
    lost = error[bad] <= 0.02 * size[bad]  # where terms cancel, lost digits are a larger part
    if want.dtype.is_floating_point and error.max() < 0.02 * size.max() and 2 * lost.sum() >= len(lost):
        return NEARLY
    return ""

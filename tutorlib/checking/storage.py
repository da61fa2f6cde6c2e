"""Exercises whose answer is a cute.struct: what a kernel keeps in shared memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tutorlib.checking.exercise import Answer, Exercise, Verdict, WrongKind
from tutorlib.checking.values import attempt
from tutorlib.problems.wrong import count

LIMIT = 227 * 1024  # bytes of shared memory that a block can have on sm_90


class Member(NamedTuple):
    """What a struct must have by some name: so many elements, of so many bits, at a multiple of `align` bytes.

    kinds: names of the dtypes that will do.
    """

    elements: int
    kinds: tuple[str, ...]
    align: int = 1


@dataclass(frozen=True, kw_only=True)
class StructExercise(Exercise):
    """The answer takes a number and returns a cute.struct with these members, in any order.

    wanted: takes the number. numbers: those that are tried. spare: bytes more than its members that it may have.
    """

    wanted: Callable[[int], Mapping[str, Member]]
    numbers: tuple[int, ...]
    spare: int = 2048
    limit: int = field(default=LIMIT)

    def judge(self, answer: Answer) -> Verdict:
        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function.")
        wrongs = {number: said for number in self.numbers if (said := self.fault(answer, number))}
        if not wrongs:
            return Verdict(self.points)
        right = len(self.numbers) - len(wrongs)
        number, said = next(iter(wrongs.items()))
        lines = (f"{right} of {count(len(self.numbers), 'number')} of stages right", f"with {number} stages {said}")
        return Verdict(self.points * right / len(self.numbers), lines)

    def fault(self, answer: Answer, number: int) -> str:
        """What is wrong with the struct for a number, as the end of a sentence; "" where nothing is."""
        from cutlass import cute

        struct, raised = attempt(answer, (number,))
        if raised:
            return raised.what
        if not isinstance(struct, cute.struct):
            raise WrongKind(f"it should return a class decorated with @cute.struct; it returns {struct!r}.")
        wanted = self.wanted(number)
        if missing := [name for name in wanted if name not in struct._offsets]:
            return f"there is no member {missing[0]}."
        for name, member in wanted.items():
            if said := wrong_member(struct._annotations[name], member):
                return f"{name} {said}"
        for name, member in wanted.items():
            if struct._offsets[name] % member.align:
                return f"{name} begins at byte {struct._offsets[name]:,}, which is no multiple of {member.align:,}."
        return self.wrong_whole(struct, wanted)

    def wrong_whole(self, struct: Any, wanted: Mapping[str, Member]) -> str:
        strictest = max(member.align for member in wanted.values())
        if struct.__alignof__() % strictest:
            return (
                f"the struct's own alignment is {struct.__alignof__()}: offsets inside are right, but nothing makes "
                f"it begin at a multiple of {strictest:,}. A member's cute.struct.Align does."
            )
        size = struct.__sizeof__()
        if size > self.limit:
            return f"it has {size:,} bytes; a block can have {self.limit:,}."
        needed = sum(annotated_bytes(struct._annotations[name]) for name in wanted)
        if size > needed + self.spare:
            return f"it has {size:,} bytes, {size - needed:,} more than its members."
        return ""


def unaligned(annotation: Any) -> Any:
    """What stands inside of an Align."""
    from cutlass import cute

    return annotation.dtype if isinstance(annotation, cute.struct._AlignMeta) else annotation


def annotated_bytes(annotation: Any) -> int:
    return unaligned(annotation).size_in_bytes


def wrong_member(annotation: Any, wanted: Member) -> str:
    from cutlass import cute

    found = unaligned(annotation)
    if not isinstance(found, cute.struct._MemRangeMeta):
        return f"should be a cute.struct.MemRange of {wanted.elements:,} elements."
    dtype: Any = found._dtype
    if dtype.__name__ not in wanted.kinds:
        return f"has elements of {dtype.__name__}, not {wanted.kinds[0]}."
    if found.size != wanted.elements:
        return f"has {found.size:,} elements, not {wanted.elements:,}."
    return ""

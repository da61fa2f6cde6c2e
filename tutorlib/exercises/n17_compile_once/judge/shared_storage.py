"""Exercises whose answer is a cute.struct: what a kernel keeps in shared memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.artifact import CuteArtifact
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.checking.part import HostFunction, need_callable
from tutorlib.checking.served import Served
from tutorlib.checking.values import attempt
from tutorlib.exercises.n17_compile_once.judge.structs import StructMember, struct_members
from tutorlib.failure import FailureKind, Flaw
from tutorlib.machine.features import TMA
from tutorlib.measuring.launchers import CuteLauncher
from tutorlib.problems.problem import Operand, Problem, Shape
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.exercises.n17_compile_once.judge.struct_probe import ProbedMembers
    from tutorlib.measuring.simulated_launchers import SimulatedCute
    from tutorlib.simulate.ptx.ir import Module
    from tutorlib.simulate.ptx.simulation import Launch

BEFORE = 2048  # bytes of shared memory in front of the struct, whose first member's alignment may be 1,024


@dataclass(frozen=True)
class Member:
    """A member that a struct must have: `elements` of these kinds, at a multiple of `align` bytes.

    kinds: names of the dtypes that will do.
    """

    elements: int
    kinds: tuple[str, ...]
    align: int = 1

    @property
    def whole(self) -> bool:
        """Whether its elements are whole numbers."""
        return "Int64" in self.kinds

    @property
    def bytes(self) -> int:
        return self.elements * (8 if self.whole else 2)


Members = Mapping[str, Member]


def probe_shape(members: Members) -> Shape:
    """How many elements are written, and how many numbers are read: those, and a remainder for each member."""
    elements = sum(member.elements for member in members.values())
    return elements, elements + len(members)


def as_probed(members: Members) -> "ProbedMembers":
    return [(name, one.elements, one.whole, one.align) for name, one in members.items()]


def probing(structs: Mapping[Shape, Members]) -> Problem:
    """x (X,) is written to the members of a struct, in their order, and read back when all are there: y (Y,).

    Numbers are rounded as the members' dtypes do it. What follows them is by how much each member's address misses a
    multiple of its alignment: 0. structs: by the shape (X, Y), what is wanted.
    """

    def reference(x: "Tensor") -> "Tensor":
        import torch

        from tutorlib.exercises.n17_compile_once.judge.struct_probe import UNIT

        members = next(members for (size, _), members in structs.items() if size == len(x)).values()
        parts = zip(members, x.split([member.elements for member in members]), strict=True)
        kept = [(part.abs() * UNIT).long() / UNIT if one.whole else part.bfloat16().float() for one, part in parts]
        return torch.cat([*kept, x.new_zeros(len(kept))])

    return Problem(
        name="storage",
        dims="XY",
        inputs=(Operand("x", "X", "fp32"),),
        output=Operand("y", "Y", "fp32"),
        reference=reference,
        bound=None,
        baseline=lambda y, x: y.copy_(reference(x)),
        baseline_name="torch",
    )


@dataclass
class Probed(CuteLauncher):
    """A kernel that uses the answer's structs, and the answer."""

    answer: Answer = field(kw_only=True)


@dataclass
class ProbeArtifact(CuteArtifact):
    """room: the most bytes of shared memory, by shape."""

    room: Mapping[Shape, int] = field(default_factory=dict)

    def launches(self, module: "Module", shape: Shape, addresses: Sequence[int], here: bool = False) -> "list[Launch]":
        from tutorlib.simulate.ptx import CannotLaunch

        made = super().launches(module, shape, addresses, here)
        for one in made:
            variables = (*module.variables.values(), *one.kernel.variables.values())
            taken = one.dynamic_smem + sum(part.size or 0 for part in variables if part.space == "shared")
            if taken > self.room[shape]:
                raise CannotLaunch(f"it takes {taken:,} bytes of shared memory; {self.room[shape]:,} are enough")
        return made


class StructFlaw(FailureKind):
    """What is wrong with a struct. OFFSET: where a member begins [align: what it must be a multiple of]."""

    NO_STRUCT = "no struct"
    MISSING = "no such member"
    OFFSET = "offset of a member"
    ALIGNMENT = "alignment of the struct"
    NO_RANGE = "no range"
    TYPE = "type of elements"
    NUMBER = "number of elements"
    GAPS = "gaps"


@dataclass(frozen=True, kw_only=True)
class StructExercise(CuteExercise):
    """The answer takes a number and returns a cute.struct with these members, in any order.

    The struct itself is looked at where it lives. A kernel that uses it is simulated, so that what counts is where its
    members lie: see `judge.struct_probe`.

    wanted: takes the number. numbers: those that are tried. spare: bytes more than its members that it may have.
    """

    wanted: Callable[[int], Mapping[str, Member]]
    numbers: tuple[int, ...]
    spare: int = 2048
    patterned: bool = False
    problem: Problem = field(init=False)
    shapes: tuple[Shape, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "problem", probing({probe_shape(one): one for one in map(self.wanted, self.numbers)}))
        object.__setattr__(self, "shapes", tuple(probe_shape(self.wanted(number)) for number in self.numbers))

    def accept(self, answer: Answer) -> Probed:
        return Probed(self.probe(answer), self.problem, answer=answer)

    def probe(self, answer: Answer) -> HostFunction:
        from tutorlib.exercises.n17_compile_once.judge.struct_probe import make_probe

        tried = {size: (number, as_probed(self.wanted(number))) for (size, _), number in self.by_shape.items()}
        return make_probe(need_callable(answer), tried)

    @property
    def by_shape(self) -> dict[Shape, int]:
        return dict(zip(self.shapes, self.numbers, strict=True))

    def look_into(self, kernel: Any) -> Verdict | None:
        wrongs = {number: said for number in self.numbers if (said := self.fault(kernel.answer, number))}
        if not wrongs:
            return next(filter(None, (self.gapped(kernel.answer(number), number) for number in self.numbers)), None)
        right = len(self.numbers) - len(wrongs)
        number, said = next(iter(wrongs.items()))
        lines = (f"{right} of {count(len(self.numbers), 'number')} of stages right", f"with {number} stages " + said)
        return Verdict(self.points * right / len(self.numbers), lines)

    def artifact(self, served: Served) -> ProbeArtifact:
        """Its kernel has no more shared memory than the members need, and what else may be there."""
        members = {shape: self.wanted(number).values() for shape, number in self.by_shape.items()}
        room = {shape: sum(one.bytes for one in ones) + self.spare + BEFORE for shape, ones in members.items()}
        return replace(ProbeArtifact.of(served, self), room=room)

    def examine(self, artifact: Any) -> Verdict | None:
        """The struct has said what a compiler could."""

    def tracer(self, answer: Answer) -> "SimulatedCute":
        """For the GPU that has as much shared memory."""
        from tutorlib.measuring.simulated_launchers import SimulatedCute

        return SimulatedCute(self.probe(answer), self.problem, arch=TMA.target)

    def run_or_simulate(self, artifact: Any) -> Verdict:
        return self.run(artifact)

    def run(self, artifact: Any) -> Verdict:
        """No GPU knows more of addresses than the simulator."""
        return self.simulate_all(artifact, "")

    def fault(self, answer: Answer, number: int) -> str:
        """What is wrong with the struct for a number, as the end of a sentence; "" where nothing is."""
        from cutlass import cute

        struct, raised = attempt(answer, (number,))
        if raised:
            return raised.what
        if not isinstance(struct, cute.struct):
            what = f"it should return a class decorated with @cute.struct; it returns {struct!r}."
            raise WrongKind(Flaw(what, StructFlaw.NO_STRUCT))
        wanted = self.wanted(number)
        members = struct_members(struct)
        if missing := [name for name in wanted if name not in members]:
            return Flaw(f"there is no member {missing[0]}.", StructFlaw.MISSING)
        for name, member in wanted.items():
            if said := wrong_member(members[name], member):
                return f"{name} " + said
        for name, member in wanted.items():
            if (offset := members[name].offset) % member.align:
                what = f"{name} begins at byte {offset:,}, which is no multiple of {member.align:,}."
                return Flaw(what, StructFlaw.OFFSET(align=member.align))
        return self.wrong_whole(struct, wanted, sum(members[name].size or 0 for name in wanted))

    def wrong_whole(self, struct: Any, wanted: Mapping[str, Member], needed: int) -> str:
        """needed: bytes of the wanted members."""
        strictest = max(member.align for member in wanted.values())
        if struct.__alignof__() % strictest:
            return Flaw(
                f"the struct's own alignment is {struct.__alignof__()}: offsets inside are right, but nothing makes "
                f"it begin at a multiple of {strictest:,}. A member's cute.struct.Align does.",
                StructFlaw.ALIGNMENT,
            )
        size = struct.__sizeof__()
        if size > needed + self.spare:
            return f"it has {size:,} bytes, {size - needed:,} more than its members."
        return ""

    def gapped(self, struct: Any, number: int) -> Verdict | None:
        """Of a right struct with gaps that another order or fewer alignments would not have."""
        wanted = self.wanted(number)
        gaps = struct.__sizeof__() - sum(member.bytes for member in wanted.values())
        strictest = max(member.align for member in wanted.values())
        if gaps < strictest:
            return None
        what = f"right, but with {number} stages {gaps:,} of its {struct.__sizeof__():,} bytes are gaps. Members that "
        what += f"need no alignment to {strictest:,} bytes fit in one gap, side by side, of less than {strictest:,}."
        return Verdict(self.points - 1, (Flaw(what, StructFlaw.GAPS),))


def wrong_member(found: StructMember, wanted: Member) -> str:
    if found.dtype is None:
        return Flaw(f"should be a cute.struct.MemRange of {wanted.elements:,} elements.", StructFlaw.NO_RANGE)
    if found.dtype.__name__ not in wanted.kinds:
        return Flaw(f"has elements of {found.dtype.__name__}, not {wanted.kinds[0]}.", StructFlaw.TYPE)
    if found.elements != wanted.elements:
        return Flaw(f"has {found.elements:,} elements, not {wanted.elements:,}.", StructFlaw.NUMBER)
    return ""

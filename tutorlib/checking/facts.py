"""Facts, which the simulator counts of a kernel's launches at one size, and rules, which bound them.

`issued("bar.sync") <= 48` is a rule: its message is made of the fact and the bound, with the source line that the
number comes from. A rule without its fact's opcode, `blocks >= 8`, is about the launches as a whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.failure import Fail, FailureKind, Fault, Flaw, failures_in

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.report import Issued, Report

Reports = Sequence["Report"]
FAR = 8  # times what is enough


@dataclass(frozen=True)
class Fact:
    """A number, over all launches of a kernel.

    count: takes the launches' reports. unit: the format of the number in a message.
    above, below: what is wrong with a kernel that has more, or less, than a rule allows: the kind of failure, and a
        sentence with {have}, {want} and {at}, the place that the number comes from.
    """

    name: str
    count: Callable[[Reports], float]
    above: tuple[Fault | FailureKind, str] | None = None
    below: tuple[Fault | FailureKind, str] | None = None
    unit: str = ","
    at: Callable[[Reports], str] = lambda reports: ""
    grows: bool = False  # with the problem, where a loop must not be unrolled

    def __le__(self, most: "float | Fact") -> "Rule":
        return Rule(self, most, self.above)

    def __ge__(self, least: "float | Fact") -> "Rule":
        return Rule(self, least, self.below)


@dataclass(frozen=True)
class Rule:
    """A fact that may be at most, or must be at least, a number or another fact. says: what is wrong otherwise."""

    fact: Fact
    bound: float | Fact
    says: tuple[Fault | FailureKind, str] | None

    @property
    def at_least(self) -> bool:
        return self.says is self.fact.below

    def numbers(self, reports: Reports) -> tuple[float, float]:
        """The fact's, and the bound's."""
        return self.fact.count(reports), self.bound.count(reports) if isinstance(self.bound, Fact) else self.bound

    def broken(self, reports: Reports) -> str | None:
        """What is wrong, as a sentence, or None."""
        have, want = self.numbers(reports)
        if have >= want if self.at_least else have <= want:
            return None
        assert self.says, f"{self.fact.name} has no such bound"
        kind, text = self.says
        alike = f", as many as {self.bound.name}," if isinstance(self.bound, Fact) else ""
        what = text.format(
            have=format(have, self.fact.unit), want=format(want, self.fact.unit) + alike, at=self.fact.at(reports)
        )
        if self.fact.name == ALL and have > FAR * want:
            return Flaw(
                f"every thread does far more than its share: {what}", Fail.TOO_MANY(instruction="", share="all")
            )
        return Flaw(what, kind)


def first_broken(rules: Sequence[Rule], reports: Reports) -> str | None:
    """What is wrong by the first of these rules that is broken, as a sentence, or None."""
    return next(filter(None, (rule.broken(reports) for rule in rules)), None)


def far_too_many(broken: str) -> bool:
    """Whether a rule is broken by so much that every thread seems to do all of the work."""
    return any(map(Fail.TOO_MANY(share="all").covers, failures_in([broken])))


# Of instructions: opcode is the beginning of one, or of several with | between them; "" is every instruction


ALL = "instructions"


def issued(opcode: str) -> Fact:
    """How often warps issue it: "bar.sync" every barrier of a block, "mma" the tensor cores' work."""
    name = f"{opcode.replace('|', '/')} instructions" if opcode else ALL
    return Fact(
        name,
        lambda reports: count_issued(reports, opcode),
        (Fail.TOO_MANY(instruction=opcode), f"its warps issue {{have}} {name}; {{want}} are enough{{at}}."),
        (Fail.TOO_FEW(instruction=opcode), f"its warps issue {{have}} {name}; one that does as asked issues {{want}}."),
        at=lambda reports: busiest(reports, opcode),
    )


def at_most(times: Mapping[str, int]) -> tuple[Rule, ...]:
    """Rules for several opcodes: how often warps may issue each."""
    return tuple(issued(opcode) <= most for opcode, most in times.items())


def unrolled(opcode: str) -> Fact:
    """How often warps issue any single instruction of it: once for each warp where it is in no loop."""
    what = (
        f"the loop around its {opcode} is not unrolled: warps issue one {{have}} times, and {{want}} are enough{{at}}."
    )
    return Fact(
        f"times of one {opcode}",
        lambda reports: most_issued(reports, opcode),
        (Fail.TOO_MANY(instruction=opcode), what),
        at=lambda reports: busiest(reports, opcode),
    )


def looped(opcode: str) -> Fact:
    """How often a warp issues one instruction of it: above 1 in a loop that grows with the problem, and is no unrolled
    one.
    """
    what = (
        f"a warp issues no {opcode} more than once: the loop around them is unrolled, and the code grows with the "
        "problem. Make it a plain range."
    )
    return Fact(
        f"times of a warp's {opcode}",
        lambda reports: most_issued(reports, opcode) / max(total(reports, "warps"), 1),
        below=(Fail.TOO_MANY(instruction="code"), what),
        grows=True,
    )


def lines(opcode: str) -> Fact:
    """How many cache lines, of 128 bytes, a warp's access touches on average."""

    def farthest(reports: Reports) -> Any:
        found = [one for report in reports for one in report.accesses if one.opcode.startswith(opcode) and one.warps]
        return max(found, key=lambda one: one.lines / one.warps, default=None)

    return Fact(
        "lines of 128 bytes",
        lambda reports: far.lines / far.warps if (far := farthest(reports)) else 0,
        (
            Fail.WASTE(space="lines"),
            f"{{at}}: a warp's {opcode} touches {{have}} lines of 128 bytes where {{want}} would do: its threads are "
            "too far apart in memory.",
        ),
        unit=".3g",
        at=lambda reports: str((far.place if (far := farthest(reports)) else None) or "it"),
    )


# Of the launches


def total(reports: Reports, name: str) -> Any:
    return sum(getattr(report, name) for report in reports)


def largest(name: str) -> Callable[[Reports], float]:
    return lambda reports: max((getattr(report, name) for report in reports), default=0.0)


blocks = Fact(
    "blocks",
    lambda reports: total(reports, "blocks"),
    (Fail.TOO_MANY(instruction="block"), "it launches {have} blocks, of which {want} would be enough."),
    (Fail.TOO_FEW_BLOCKS, "{have} of {want} blocks do all of the work, and most SMs are idle."),
)
warps = Fact(
    "warps",
    lambda reports: total(reports, "warps"),
    below=(
        Fail.TOO_FEW(instruction="warp"),
        "{have} warps do all of the work; a kernel that does as asked has {want}.",
    ),
)
busy = Fact(  # those that load from global memory or store to it
    "busy warps",
    lambda reports: total(reports, "busy") / max(total(reports, "warps"), 1),
    below=(Fail.TOO_FEW(instruction="warp"), "{have} of its warps do all of the work, and the others idle."),
    unit=".0%",
)
overlap = Fact(  # of what is read from shared memory, the share that is read while a copy is in flight
    "overlap",
    largest("overlap"),
    below=(
        Fail.NO_OVERLAP,
        "{have} of its reads of shared memory go on while a copy is in flight; a working pipeline has {want} or more: "
        "issue the next stage's copies before you compute with this one, and wait for the older group alone.",
    ),
    unit=".0%",
)
ahead = Fact(  # tiles that cp.async is copying while a thread reads shared memory: above 1 for three stages or more
    "tiles ahead",
    largest("ahead"),
    below=(
        Fail.NO_OVERLAP(of="stages"),
        "while its warps read a tile, copies of at most {have} tiles are in flight; a pipeline with all its stages "
        "has {want} or more. Issue copies STAGES - 1 tiles ahead, and let the newest STAGES - 2 groups stay in flight "
        "at each wait.",
    ),
    unit=".1f",
)
fetched = Fact(  # of mma.sync, the share whose operands were fetched before the K block in front of it was multiplied
    "operands fetched ahead",
    largest("fetched_ahead"),
    below=(
        Fail.NO_OVERLAP(of="registers"),
        "{have} of its mma.sync have operands that were fetched ahead, and the others wait for the ldmatrix right "
        "before them: fetch the next K block, and then multiply the one that was fetched before it.",
    ),
    unit=".0%",
)
reread = Fact(  # of what warps read from shared memory, the share that the same warp has read since it was written
    "reads again",
    largest("reread"),
    (
        Fail.TOO_MANY(instruction="ldmatrix"),
        "{have} of what its warps read from shared memory they have read before: fetch each K block once{at}.",
    ),
    unit=".0%",
    at=lambda reports: busiest(reports, "ldmatrix|ld.shared"),
)
reloaded = Fact(  # of what blocks load from global memory, the share that the same block has loaded before
    "loads again",
    largest("reloaded"),
    (Fail.TOO_MANY(instruction="load"), "{have} of what its blocks load they have loaded before."),
    unit=".0%",
)
restored = Fact(
    "bytes stored again",
    lambda reports: total(reports, "restored"),
    (Fail.TOO_MANY(instruction="store"), "its blocks store {have} bytes that they have stored before."),
)
computed_twice = Fact(  # pairs of fp32 instructions that compute the same numbers
    "pairs of equal instructions",
    lambda reports: sum(bool(report.computed_twice) for report in reports),
    (
        Fail.TOO_MANY(instruction="f32"),
        "two instructions compute the same numbers, up to rounding, and one is enough: {at}.",
    ),
    at=lambda reports: " and ".join(
        dict.fromkeys(map(str, next((one.computed_twice for one in reports if one.computed_twice), ())))
    ),
)


def groups_left(reports: Reports) -> int:
    """How many groups the wait that leaves most of them leaves in flight."""
    waits = (one.operands for one in issued_as(reports, "wgmma.wait_group"))
    return max((int(getattr(left[0], "text", "0"), 0) for left in waits if left), default=0)


groups = Fact(  # of wgmma, that some wait leaves in flight: 1 where the tensor cores do not run dry
    "groups in flight",
    groups_left,
    below=(
        Fail.NO_OVERLAP(of="wgmma"),
        "it waits for every wgmma group before it issues the next, so the tensor cores run dry: wait_group(1), after "
        "the next one's commit, leaves it in flight.",
    ),
)


# The instructions that are issued


def issued_as(reports: Reports, opcode: str) -> "Iterator[Issued]":
    """Those whose opcode begins so; of several, with | between them, with any of them."""
    beginnings = tuple(opcode.split("|"))
    return (one for report in reports for one in report.issued if one.opcode.startswith(beginnings))


def count_issued(reports: Reports, opcode: str) -> int:
    """The number of instructions issued whose opcode begins so."""
    return sum(one.warps for one in issued_as(reports, opcode))


def most_issued(reports: Reports, opcode: str) -> int:
    """The number of times that warps issue the one of these instructions that they issue most often."""
    return max((one.warps for one in issued_as(reports, opcode)), default=0)


def busiest(reports: Reports, opcode: str) -> str:
    """The source line that issues most of them, as the end of a sentence; "" where none does, or no line was kept."""
    counts: dict[str, int] = {}
    for one in (one for one in issued_as(reports, opcode) if one.place):
        counts[str(one.place)] = counts.get(str(one.place), 0) + one.warps
    line = max(counts, key=lambda line: counts[line], default="")
    return f" (most of them at {line})" if line and 2 * counts[line] > count_issued(reports, opcode) else ""


NOTHING_SHARED = issued("bar.sync|st.shared") <= 0  # for threads that compute alone

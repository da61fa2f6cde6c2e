"""Facts, which the simulator counts of a kernel's launches at one size, and rules, which bound them.

`issued("bar.sync") <= 48` is a rule: its message is made of the fact and the bound, with the source line that the
number comes from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.failure import Fail, FailureKind, Fault, Flaw, failures_in
from tutorlib.problems.differences import count

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.report import Issued, Report

LaunchReports = Sequence["Report"]
Check = Callable[[LaunchReports], str | None]  # gives what is wrong, as a sentence: a Rule, or any other function
KindOfFailure = Fault | FailureKind
FAR = 8  # times what is enough
WASTES = {"shared": ("wavefront", "threads meet in a bank"), "global": ("sector", "sectors are used in part")}
ALL_OF_IT = Fail.TOO_MANY(instruction="", share="all")


@dataclass(frozen=True)
class Fact:
    """A number, over all launches of a kernel.

    says: a sentence's beginning, with {have} for the number. count: takes the launches' reports.
    above, below: the kind of failure of a kernel that has more, or less, than a rule allows; None: no rule says so.
    far: the same for a kernel that has FAR times more than a rule allows, as if each thread did all of the work.
    unit: the number's format. at: the source line that it comes from, as the end of a sentence.
    grows: whether it is about a loop that grows with the problem.
    """

    says: str
    count: Callable[[LaunchReports], float]
    above: KindOfFailure | None = None
    below: KindOfFailure | None = None
    unit: str = ","
    at: Callable[[LaunchReports], str] = lambda reports: ""
    grows: bool = False
    far: KindOfFailure | None = None

    def __le__(self, most: "float | Fact") -> "Rule":
        return Rule(self, most, at_least=False)

    def __ge__(self, least: float) -> "Rule":
        return Rule(self, least, at_least=True)


@dataclass(frozen=True)
class Rule:
    """A fact that may be at most a number, or another fact; or must be at least a number."""

    fact: Fact
    bound: float | Fact
    at_least: bool

    def numbers(self, reports: LaunchReports) -> tuple[float, float]:
        """The fact's, and the bound's."""
        return self.fact.count(reports), self.bound.count(reports) if isinstance(self.bound, Fact) else self.bound

    def __call__(self, reports: LaunchReports) -> str | None:
        """What is wrong, as a sentence, or None."""
        have, want = self.numbers(reports)
        if have >= want if self.at_least else have <= want:
            return None
        kind = self.fact.below if self.at_least else self.fact.above
        assert kind, f"{self.fact.says}: it has no such bound"
        says, enough = self.fact.says.format(have=format(have, self.fact.unit)), format(want, self.fact.unit)
        what = f"{says}; {'it takes' if self.at_least else 'at most'} {enough}"
        what += f" or more{self.fact.at(reports)}." if self.at_least else f" will do{self.fact.at(reports)}."
        if self.fact.far and have > FAR * want:
            return Flaw(f"every thread does far more than its share: {what}", self.fact.far)
        return Flaw(what, kind)


def first_broken(rules: Sequence[Check], reports: LaunchReports) -> str:
    """What is wrong by the first of these rules that is broken, as a sentence, or ""."""
    return next(filter(None, (rule(reports) for rule in rules)), "")


def far_too_many(broken: str) -> bool:
    """Whether a rule is broken by so much that every thread seems to do all of the work."""
    return any(map(ALL_OF_IT.covers, failures_in([broken])))


# Rules that bound no number


def without(findings: str) -> Check:
    """A launch's report has none of these findings."""
    return lambda reports: next((one.sentence for report in reports for one in getattr(report, findings)), None)


stored_once = without("repeats")  # each element of the output is stored by one block only
no_padding = without("zeros")  # TMA loads no boxes of padding alone, which leave the result right


def lean(*opcodes: str) -> Check:
    """Accesses of opcodes that begin so move no more than they need: "ld.shared" is free of bank conflicts, "st.global"
    moves whole sectors. The message has the access that wastes most, with its mean cost and its line.
    """

    def wasteful(reports: LaunchReports) -> str | None:
        accesses = [one for report in reports for one in report.accesses if one.opcode.startswith(opcodes)]
        worst = max(accesses, key=lambda one: one.wasted, default=None)
        if not worst or not worst.wasted:
            return None
        at = worst.place or f"line {worst.ptx_line} of the PTX"
        unit, why = WASTES[worst.space]
        takes, needs = count(round(worst.taken / worst.warps, 1), unit), worst.needed / worst.warps
        what = f"{at}: a warp's {worst.opcode} takes {takes} where {needs:.3g} would do: {why}."
        return Flaw(what, Fail.WASTE(space=worst.space))

    return wasteful


# Of instructions: opcode is the beginning of one, or of several with | between them; "" is every instruction


def counted(says: str, opcode: str, count: Callable[[LaunchReports, str], float], **kinds: Any) -> Fact:
    """A number of these instructions, and the line that issues most of them."""
    return Fact(says, lambda reports: count(reports, opcode), at=lambda reports: busiest(reports, opcode), **kinds)


def issued(opcode: str) -> Fact:
    """How often warps issue it: "bar.sync" every barrier of a block, "mma" the tensor cores' work."""
    says = f"its warps issue {{have}} {opcode.replace('|', '/')} instructions".replace("  ", " ")
    above, below = Fail.TOO_MANY(instruction=opcode), Fail.TOO_FEW(instruction=opcode)
    return counted(says, opcode, count_issued, above=above, below=below, far=None if opcode else ALL_OF_IT)


def at_most(times: Mapping[str, int]) -> tuple[Rule, ...]:
    """Rules for several opcodes: how often warps may issue each."""
    return tuple(issued(opcode) <= most for opcode, most in times.items())


def unrolled(opcode: str) -> Fact:
    """How often warps issue any single instruction of it: once for each warp where it is in no loop."""
    says = f"the loop around a {opcode} is not unrolled: warps issue it {{have}} times"
    return counted(says, opcode, most_issued, above=Fail.TOO_MANY(instruction=opcode))


def looped(opcode: str) -> Fact:
    """How often a warp issues a single instruction of it: above 1 in a loop that is not unrolled."""
    return Fact(
        f"the loop around {opcode} is unrolled, and the code grows with the problem, where a plain range does not: a "
        "warp issues none of them more than {have} times",
        lambda reports: most_issued(reports, opcode) / max(sum_of(reports, "warps"), 1),
        below=Fail.TOO_MANY(instruction="code"),
        unit=".3g",
        grows=True,
    )


# Of the launches


def sum_of(reports: LaunchReports, name: str) -> Any:
    return sum(getattr(report, name) for report in reports)


def largest(says: str, number: str | Callable[["Report"], float], unit: str = ".0%", **others: Any) -> Fact:
    """The largest of the launches' numbers. number: counts it, or the name of one in `measuring.kernel_work.Work`."""
    count = number if callable(number) else lambda report: getattr(report.heard, number)
    return Fact(says, lambda reports: max(map(count, reports), default=0), unit=unit, **others)


blocks = Fact(
    "it launches {have} blocks",
    lambda reports: sum_of(reports, "blocks"),
    Fail.TOO_MANY(instruction="block"),
    Fail.TOO_FEW_BLOCKS,
)
warps = Fact(
    "it launches {have} warps", lambda reports: sum_of(reports, "warps"), below=Fail.TOO_FEW(instruction="warp")
)
busy = Fact(  # warps that load from global memory or store to it
    "{have} of its warps do all of the work",
    lambda reports: sum(one.heard.busy for one in reports) / max(sum_of(reports, "warps"), 1),
    below=Fail.TOO_FEW(instruction="warp"),
    unit=".0%",
)
overlap = largest(
    "{have} of its reads of shared memory go on while a copy is in flight", "overlap", below=Fail.NO_OVERLAP
)
ahead = largest(  # tiles: above 1 for three stages or more
    "while its warps read a tile, cp.async is copying {have} others", "ahead", ".1f", below=Fail.NO_OVERLAP(of="stages")
)


def fetched_ahead(report: "Report") -> float:
    """Of mma.sync, the share whose operands are not those of the run of ldmatrix that the program has before it."""
    fresh, ended, ahead, total = set[Any](), True, 0, 0
    for one in report.issued:
        if one.opcode.startswith("ldmatrix"):
            fresh = registers_in(one.operands[:1]) | (set() if ended else fresh)
            ended = False
        elif one.opcode.startswith(("mma.sync", "bra", "bar", "cp.async")):
            ended = True
        if one.opcode.startswith("mma.sync"):
            total += one.warps
            ahead += one.warps * fresh.isdisjoint(registers_in(one.operands[1:3]))
    return ahead / max(total, 1)


def registers_in(operands: Sequence[Any]) -> set[Any]:
    """Those of the vectors among these operands."""
    return {item for operand in operands for item in getattr(operand, "items", ())}


fetched = largest(
    "{have} of its mma.sync have operands that were fetched before the K block in front of them was multiplied",
    fetched_ahead,
    below=Fail.NO_OVERLAP(of="registers"),
)
reread = largest(  # a loop that fetches registers ahead may fetch a K block or two too many
    "{have} of what its warps read from shared memory they have read before",
    "reread",
    above=Fail.TOO_MANY(instruction="ldmatrix"),
    at=lambda reports: busiest(reports, "ldmatrix|ld.shared"),
)


def groups_left(reports: LaunchReports, opcode: str) -> int:
    """The most that one of these waits leaves in flight."""
    waits = (one.operands for one in issued_as(reports, opcode))
    return max((int(getattr(left[0], "text", "0"), 0) for left in waits if left), default=0)


groups = Fact(  # 1 where the tensor cores do not run dry
    "its waits leave {have} wgmma groups in flight",
    lambda reports: groups_left(reports, "wgmma.wait_group"),
    below=Fail.NO_OVERLAP(of="wgmma"),
)
copies_left = Fact(
    "its waits leave {have} groups of copies in flight",
    lambda reports: groups_left(reports, "cp.async.wait_group"),
    below=Fail.NO_OVERLAP,
)


# The instructions that are issued


def issued_as(reports: LaunchReports, opcode: str) -> "Iterator[Issued]":
    """Those whose opcode begins so; of several, with | between them, with any of them."""
    beginnings = tuple(opcode.split("|"))
    return (one for report in reports for one in report.issued if one.opcode.startswith(beginnings))


def count_issued(reports: LaunchReports, opcode: str) -> int:
    """The number of instructions issued whose opcode begins so."""
    return sum(one.warps for one in issued_as(reports, opcode))


def most_issued(reports: LaunchReports, opcode: str) -> int:
    """The number of times that warps issue the one of these instructions that they issue most often."""
    return max((one.warps for one in issued_as(reports, opcode)), default=0)


def busiest(reports: LaunchReports, opcode: str) -> str:
    """The source line that issues most of them, as the end of a sentence; "" where none does, or no line was kept."""
    counts: dict[str, int] = {}
    for one in (one for one in issued_as(reports, opcode) if one.place):
        counts[str(one.place)] = counts.get(str(one.place), 0) + one.warps
    line = max(counts, key=lambda line: counts[line], default="")
    return f" (most of them at {line})" if line and 2 * counts[line] > count_issued(reports, opcode) else ""


NOTHING_SHARED = issued("bar.sync|st.shared") <= 0  # for threads that compute alone

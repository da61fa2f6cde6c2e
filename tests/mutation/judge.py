"""What the simulator makes of a kernel: wrong results, findings, costs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tutorlib.measuring.simulated_launchers import SimulatedLauncher
from tutorlib.problems.differences import find_difference
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Work
from tutorlib.simulate.ptx import CannotLaunch, NotSimulated


class Crashed(Exception):
    """The simulator itself failed. The message says how."""


@dataclass(frozen=True)
class Judgement:
    """found: why the kernel is wrong, in one line each. taken: wavefronts and sectors, by space and shape.

    ptx: the code, without line numbers.
    """

    found: tuple[str, ...]
    taken: dict[tuple[str, Shape], int]
    ptx: dict[Shape, str]


def judge(launcher: SimulatedLauncher, problem: Problem, shapes: Sequence[Shape]) -> Judgement:
    """One call for each shape on random inputs. Stops at the first shape where something is wrong.

    Raises what compiling raises, NotSimulated and Crashed.
    """
    import torch

    taken: dict[tuple[str, Shape], int] = {}
    ptx: dict[Shape, str] = {}
    for shape in shapes:
        generator = torch.Generator()
        generator.manual_seed(0)
        work = Work(problem, shape, "cpu")
        work.refill(generator)
        call = launcher.on(work)
        ptx[shape] = re.sub(r"(?m)^\s*(\.loc|\.file|//)[^\n]*\n", "", launcher.ptx(shape).split(".section")[0])
        try:
            call()
        except NotSimulated:
            raise
        except CannotLaunch as error:
            return Judgement((f"cannot be launched: {error}",), taken, ptx)
        except Exception as error:
            raise Crashed(f"{type(error).__name__}: {error}") from error
        found = [f"{finding.kind}: {finding}" for report in launcher.reports for finding in report.findings]
        if outside := work.output.as_it_is().overrun():
            found.append(f"wrote outside: {outside}")
        if wrong := find_difference(
            problem.output.name, *work.output.as_it_is().seen, *problem.expected(work.inputs, shape)
        ):
            found.append(f"wrong: {wrong.what}")
        if found:
            return Judgement(tuple(found), taken, ptx)
        for space in ("shared", "global"):
            taken[space, shape] = sum(report.total(space)[0] for report in launcher.reports)
    return Judgement((), taken, ptx)

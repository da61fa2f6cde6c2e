"""`explain`: a kernel simulated on any machine, as a report and a drawing; `show_source`: the course's own code."""

from collections.abc import Sequence
from inspect import getsource, unwrap
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from tutorlib.checking.answer import Served
from tutorlib.checking.exercise import is_placeholder
from tutorlib.dsl.functions import function_of, is_jit
from tutorlib.notebook.check import judged_elsewhere
from tutorlib.paths import EXERCISE_ID

if TYPE_CHECKING:
    from tutorlib.draw.grid import Picture
    from tutorlib.problems.problem import Shape
    from tutorlib.simulate.ptx import Report

MONOSPACED = '<div style="font-family: var(--jp-code-font-family, monospace)">'  # nbconvert's <pre> inherits the font


def explain(
    kernel: Any,
    *arguments: Any,
    shape: "Shape" = (),
    grid: Sequence[int] = (),
    constants: Sequence[Any] = (),
    dynamic: bool = False,
    block: Sequence[int] = (),
    banks: bool = True,
) -> "Picture | None":
    """Simulate a kernel, print a report, and return a drawing of its first block: call it last in a cell.

        explain("13.1", main_loop)                          # an exercise and its answer
        explain("05.3", transpose_swizzled, shape=(64, 64))
        explain(transpose, src, dst)                        # any @cute.jit host function, and its tensors
        explain(add, a, b, c, grid=(4,), constants=(256,))  # a @ct.kernel
        explain(source, a, b, c, n, grid=(4,))              # Tile C++; plain CUDA C++ with block=(128,)

    It needs no GPU and takes 1 to 4 seconds. The report says whether the result is right (for an exercise), names each
    hazard with its line, and gives the wavefronts or sectors of each line that accesses memory, with "!" if it takes
    more than necessary. The drawing shows, from top to bottom, the warps step by step with the contents of each buffer
    of shared memory, and, unless `banks` is False, the banks of the accesses that waste the most wavefronts.

    shape: of an exercise, by its problem's dims (M, N, K); (): the first of its sizes, which has several blocks.
    arguments: in the kernel's order; tensors on a GPU are copied to the host, and the kernel writes to the copies.
    grid: in blocks. constants: the arguments after a cuTile kernel's tensors. dynamic: as in `run_on_gpu`. block: in
    threads. Returns None, after a line with the reason, if there is nothing to draw: the answer is not written yet, an
    instruction is not simulated, or the host function launches nothing.
    Raises CompileFailed, and WrongKind if an answer is of another kind than its exercise asks for.
    """
    is_exercise = isinstance(kernel, str) and EXERCISE_ID.fullmatch(kernel)
    if is_exercise and judged_elsewhere():
        print(f"{kernel} is handed in: there is no explanation now.")
        return None
    from tutorlib.draw.simulated import Story, picture_of
    from tutorlib.simulate.ptx import NotSimulated
    from tutorlib.simulate.ptx.memory import listening

    try:
        with listening(Story):
            if is_exercise:
                reports = of_exercise(kernel, arguments[0], tuple(shape))
            else:
                tensors = [arg if isinstance(arg, int) else arg.cpu() for arg in arguments]
                reports = simulate(kernel, tensors, grid, constants, dynamic, block)
    except NotSimulated as error:
        print(f"not explained: {error}")
        return None
    except NotImplementedError as error:
        if not is_placeholder(error):
            raise
        print(f"not explained: {error} is not written yet")
        return None
    for report in reports:
        print(describe(report))
    return picture_of(reports, banks)


def of_exercise(id: str, answer: Any, shape: "Shape") -> "list[Report]":
    """An exercise's kernel with this answer, on random inputs; a line says whether its result is right."""
    import torch

    from tutorlib.checking.kernel import KernelExercise
    from tutorlib.exercises import find
    from tutorlib.problems.differences import by, find_difference
    from tutorlib.problems.work import Work

    exercise = find(id)
    if not isinstance(exercise, KernelExercise):
        raise TypeError(f"{id} {exercise.title} asks for no kernel")
    shape = shape or exercise.sizes_simulated[0]
    launcher = exercise.simulator(exercise.evidence(Served(answer), (shape,), ()))
    work = Work(exercise.problem, shape, "cpu")
    work.refill(torch.Generator().manual_seed(0))
    launcher.on(work)()
    name = exercise.problem.output.name
    wrong = find_difference(name, *work.output.seen, *work.expected())
    print(f"{exercise.problem.name} {by(work.shape)}: " + (f"✗ {wrong.what}" if wrong else f"✓ {name} is right"))
    return launcher.reports


def simulate(
    kernel: Any,
    arguments: Sequence[Any],
    grid: Sequence[int] = (),
    constants: Sequence[Any] = (),
    dynamic: bool = False,
    block: Sequence[int] = (),
) -> "list[Report]":
    """Reports of a kernel in any language, called with these arguments; the rest as `explain` takes it.

    Raises CompileFailed and NotSimulated.
    """
    named = {f"argument {n}": arg for n, arg in enumerate(arguments)}
    if isinstance(kernel, str):
        from tutorlib.simulate.ptx.languages.cuda import simulate_cuda

        return [simulate_cuda(kernel, grid, block, named)]
    from tutorlib.compiling.spec import TensorSpec

    if is_jit(kernel):
        from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

        specs = [TensorSpec.like(tensor, dynamic) for tensor in arguments]
        return simulate_host(compile_with_lines(kernel, specs), named, dynamic=dynamic)
    from tutorlib.compiling.dsls import compile_cutile
    from tutorlib.simulate.ptx.languages.cuda import ARCH, simulate_cutile

    compiled = compile_cutile(kernel, [*map(TensorSpec.like, arguments), *constants], ARCH)
    return [simulate_cutile(kernel, compiled, grid, named)]


def describe(report: "Report") -> str:
    """A launch in a few lines: its size, its findings, the cost of its accesses."""
    from tutorlib.simulate.report import cost_lines, launch_size

    lines = [launch_size(report), *report.printed]
    lines += [f"✗ {finding}" for finding in report.findings] or [
        "✓ no hazard, no access out of bounds, no undefined value"
    ]
    lines += [f"! {repeat}" for repeat in report.repeats]
    return "\n".join(lines + cost_lines(report))


def show_source(*things: Any) -> None:
    """The code of functions, methods, classes and kernels as written, which @cute.jit changes when it compiles."""
    from IPython.display import display

    functions = (unwrap(function_of(thing)) for thing in things)
    code = "\n\n".join(dedent(getsource(getattr(each, "_original_code", each))).rstrip() for each in functions)
    display({"text/plain": code, "text/markdown": f"{MONOSPACED}\n\n```python\n{code}\n```\n\n</div>"}, raw=True)

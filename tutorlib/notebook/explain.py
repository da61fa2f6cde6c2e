"""`explain`: what a kernel did, simulated on any machine, as a report and a drawing."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import is_placeholder
from tutorlib.checking.served import Served
from tutorlib.dsl.cute.functions import says_it_is_jit
from tutorlib.notebook.check import judged_elsewhere
from tutorlib.paths import EXERCISE_ID

if TYPE_CHECKING:
    from tutorlib.draw.grid import Picture
    from tutorlib.problems.problem import Shape
    from tutorlib.simulate.ptx import Report

UNITS = {"shared": "wavefronts", "global": "sectors"}
WIDEST = 96  # letters of a source line


def explain(
    kernel: Any,
    *arguments: Any,
    shape: "Shape" = (),
    grid: Sequence[int] = (),
    constants: Sequence[Any] = (),
    dynamic: bool = False,
    block: Sequence[int] = (),
) -> "Picture | None":
    """Simulate a kernel, print what it did, and return a drawing of its first block: let it be the cell's last value.

        explain("12.1", main_loop)                          # an exercise and its answer: the rest is known
        explain("05.7", transpose_swizzled, shape=(64, 64))
        explain(transpose, src, dst)                        # any @cute.jit host function, and its tensors
        explain(add, a, b, c, grid=(4,), constants=(256,))  # a @ct.kernel
        explain(source, a, b, c, n, grid=(4,))              # Tile C++; plain CUDA C++ with block=(128,)

    It works with and without a GPU and takes 1 to 4 seconds. Printed: whether the result is right (of an exercise),
    every hazard at its line, and for each line that touches memory its wavefronts or sectors, "!" where it takes more
    than it must. Drawn, from top to bottom: what the warps did step by step, and beside it in time what each buffer of
    shared memory held; then, for the accesses that waste most, which thread wants which bank.

    shape: of an exercise, by its problem's dims (M, N, K); (): the first of its sizes, which has several blocks.
    arguments: in the kernel's order; tensors on a GPU are copied to ordinary memory, and the copies are written.
    grid: of blocks. constants: what follows a cuTile kernel's tensors. dynamic: as in `run_on_gpu`. block: threads.
    None, after a line that says why, where there is nothing to draw: an answer that is not written yet, a kernel with
    instructions that are not simulated, a host function that launches nothing.
    Raises CompileFailed, and WrongKind where an answer is not what its exercise asks for.
    """
    if isinstance(kernel, str) and EXERCISE_ID.fullmatch(kernel) and judged_elsewhere():
        print(f"{kernel} is handed in: it is not explained now.")
        return None
    from tutorlib.draw.simulated import picture_of
    from tutorlib.simulate.ptx import NotSimulated

    try:
        if isinstance(kernel, str) and EXERCISE_ID.fullmatch(kernel):
            reports = of_exercise(kernel, arguments[0], tuple(shape))
        else:
            tensors = [arg if isinstance(arg, int) else arg.cpu() for arg in arguments]
            named = {f"argument {n}": arg for n, arg in enumerate(tensors)}
            reports = simulation_of(kernel, grid, constants, dynamic, block)(named)
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
    return picture_of(reports)


def of_exercise(id: str, answer: Any, shape: "Shape") -> "list[Report]":
    """An exercise's kernel with the answer in it, on random inputs; a line says whether its result is right."""
    from tutorlib.checking.kernel import KernelExercise
    from tutorlib.exercises import find
    from tutorlib.problems.differences import find_difference
    from tutorlib.problems.work import Work
    from tutorlib.problems.wrong import by

    exercise = find(id)
    if not isinstance(exercise, KernelExercise):
        raise TypeError(f"{id} {exercise.title} asks for no kernel")
    launcher = exercise.simulator(exercise.artifact(Served(answer)))
    launcher.traced = True
    work = Work(exercise.problem, shape or exercise.sizes_simulated[0], "cpu")
    launcher.on(work)()
    name = exercise.problem.output.name
    wrong = find_difference(name, *work.output.as_it_is().seen, *work.expected())
    print(f"{exercise.problem.name} {by(work.shape)}: " + (f"✗ {wrong.what}" if wrong else f"✓ {name} is right"))
    return launcher.reports


def simulation_of(
    kernel: Any, grid: Sequence[int], constants: Sequence[Any], dynamic: bool, block: Sequence[int]
) -> "Callable[[dict[str, Any]], list[Report]]":
    """The kernel, to be called with its named arguments: by what kind it is of."""
    if isinstance(kernel, str):
        from tutorlib.compiling.cpp import compile_cpp
        from tutorlib.simulate.ptx.languages.cpp import ARCH, simulate_cuda, simulate_tile_cpp

        if block:
            return lambda named: [simulate_cuda(kernel, grid, block, named, traced=True)]
        return lambda named: [simulate_tile_cpp(compile_cpp(kernel, ARCH), grid, named, traced=True)]
    if says_it_is_jit(kernel):
        from tutorlib.compiling.spec import TensorSpec
        from tutorlib.simulate.ptx.languages.cute import simulate_host
        from tutorlib.simulate.ptx.languages.cute_lines import compile_with_lines

        def simulate_cute(named: dict[str, Any]) -> "list[Report]":
            specs = [TensorSpec.like(tensor, dynamic) for tensor in named.values()]
            return simulate_host(compile_with_lines(kernel, specs), named, dynamic, traced=True)

        return simulate_cute
    from tutorlib.simulate.ptx.languages.cutile import simulate_cutile

    return lambda named: [simulate_cutile(kernel, grid, named, constants, traced=True)]


def describe(report: "Report") -> str:
    """A launch in a few lines: how much it ran, what was noticed, what its accesses cost."""
    lines = [
        f"{report.blocks:,} block{'s' if report.blocks != 1 else ''}, {report.instructions:,} instructions of warps"
    ]
    lines += report.printed
    lines += [f"✗ {finding}" for finding in report.findings] or ["✓ no hazard, nothing outside, all defined"]
    lines += [f"! {repeat}" for repeat in report.repeats]
    return "\n".join(lines + costs(report))


def costs(report: "Report") -> list[str]:
    """What the accesses of each line of the source cost over the launch; marked where that is more than it must be."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for access in report.accesses:
        key = str(access.place or "lines that the compiler did not keep"), short(access.opcode), access.space
        taken, needed = sums.get(key, [0, 0])
        sums[key] = [taken + access.taken, needed + access.needed]
    return [
        f"{'!' if taken > needed else ' '} {opcode:9} {taken:>9,} {UNITS[space]:10} of {needed:,} needed: {cut(where)}"
        for (where, opcode, space), (taken, needed) in sums.items()
    ]


def short(opcode: str) -> str:
    """ "ld.shared.v4.b32" as "ld.shared", "cp.async.cg.shared.global" as "cp.async"."""
    return ".".join(opcode.split(".")[: 1 if opcode.startswith("ldmatrix") else 2])


def cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"

"""17.5: what compiles a function once, for all calls with torch's tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any

from tutorlib.checking.compile_calls import compilations_noted
from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.randomness import rng_of_run
from tutorlib.checking.records import Record, unlike
from tutorlib.checking.scenario import raised
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.compiling.dsls import with_reader_line
from tutorlib.dsl.refusals import what_to_do
from tutorlib.exercises.judges.p17.launch_exercise import Timed, beside_torch
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.kernels.compiled_once import for_torch
from tutorlib.problems.differences import Wrong

if TYPE_CHECKING:
    from torch import Tensor


InOut = tuple["Tensor", "Tensor"]


@dataclass(frozen=True)
class Trial:
    """Calls of one compiled function, y = 2x, of tutorlib.kernels.compiled_once.

    before: its arguments before x and y. shapes: of x in each call; columns are contiguous. skipped: elements in front
    of the last x, which then begins at a multiple of 4 bytes, not of 16.
    """

    host: str
    shapes: tuple[tuple[int, ...], ...]
    before: tuple[int, ...] = ()
    skipped: int = 0

    def pairs(self, start: int) -> list[InOut]:
        """x, whose least element is `start`, and a y of zeros for each call."""
        import torch

        found = []
        for nth, shape in enumerate(self.shapes, 1):
            skipped = self.skipped if nth == len(self.shapes) else 0
            numbers = torch.arange(start - skipped, start + prod(shape), dtype=torch.float32)
            memory = numbers, torch.zeros_like(numbers)
            strides = (1, *accumulate(shape[:-1], mul))
            x, y = (one.as_strided(shape, strides, skipped) for one in memory)
            found.append((x, y))
        return found


TRIALS = {
    "vectors of other lengths": Trial("double_on_cpu", ((6,), (3,), (100,), (1,), (8,)), skipped=1),
    "matrices with contiguous columns": Trial("double_columns_on_cpu", ((4, 6), (3, 5), (7, 2))),
    "an argument that is no tensor": Trial("double_n_on_cpu", ((4,), (9,)), before=(2,)),
}


def compiled_by(answer: Served, host: str, *arguments: Any) -> Callable[..., None]:
    """What the answer makes of a host function. Raises CompileFailed, WrongKind and the placeholder's error."""
    from tutorlib.kernels import doubling

    got = with_reader_line(lambda more: answer(getattr(doubling, host), *arguments))
    if not callable(got):
        what = f"it should return the compiled function; it returns {got!r}."
        raise WrongKind(Flaw(what, Fail.GIVES(type=type(got).__name__)))
    return got


def compiled_calls(answer: Served, trial: str, start: int) -> Record:
    """Runs where the answer is. start: the least element of each x."""
    from cutlass import Int32

    (example, to), *_ = TRIALS[trial].pairs(start)
    before, error = TRIALS[trial].before, ""
    after: dict[str, Any] = {}
    with compilations_noted() as made:
        function = compiled_by(answer, TRIALS[trial].host, *map(Int32, before), example, to)
        at_once, idle = len(made), bool(to.eq(0.0).all())
        for x, y in TRIALS[trial].pairs(start):
            of = f"a call with {tuple(x.shape)}:{x.stride()}"
            try:
                function(*before, x, y)
            except Exception as exception:
                said = raised(of, exception)
                error = error or Flaw(said, *failures_in([said, what_to_do(said)]))
            after[of] = torch_cat(x, y)
    return {
        "y of the example": "untouched" if idle else "written: an example only says how to compile",
        "compiled function": "for torch's tensors" if all(made) else "for views, which each call makes again",
        "error": error,
        "x and y after": after,
        "number of compilations": len(made),
        "number of compilations in for_torch itself": at_once,
    }


def torch_cat(x: "Tensor", y: "Tensor") -> "Tensor":
    """A copy of both."""
    import torch

    return torch.cat((x.flatten(), y.flatten()))


def compiled_once(trial: str) -> Case:
    """A case that is right when the record is the course's. What does not compile ends the check."""

    def judge(answer: Served) -> Wrong | None:
        given = trial, rng_of_run(17).randint(1, 99)
        said = unlike(answer.ask(compiled_calls, *given), compiled_calls(Served(for_torch), *given))
        return Wrong(said) if said else None

    return Case(trial, judge)


# On a GPU -------------------------------------------------------------------------------------------------------------


def timed_launches(answer: Served) -> Timed:
    """Runs where the answer is: y = 2x is launched, captured in a CUDA graph, replayed with another x, and timed."""
    import torch
    from cutlass.cute.runtime import make_fake_stream

    x, y = (torch.zeros(1024, device="cuda") for _ in range(2))
    launch = compiled_by(answer, "double", x, y, make_fake_stream(use_tvm_ffi_env_stream=True))
    launch(x, y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, y)
    x.fill_(3.0)
    graph.replay()
    what = "a captured kernel leaves another y in a replay: it runs on another stream than torch's."
    return "" if y.eq(6.0).all() else what, *beside_torch(partial(launch, x, y), x)

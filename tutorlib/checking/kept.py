"""Exercises about compiled functions that are kept: compiled once, and called with torch's tensors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.exercise import Answer, Exercise, Verdict, WrongKind, not_run, wrong
from tutorlib.checking.leaning import Elsewhere, Library, refuse_leaning
from tutorlib.compiling.cute import with_reader_line
from tutorlib.compiling.errors import without_colours
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.measuring.bench import host_us
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from torch import Tensor

ROUNDS = 7


@contextmanager
def watched_compiler() -> Iterator[dict[str, int]]:
    """How often CuTe compiles meanwhile, and how often a tensor is wrapped by from_dlpack."""
    from cutlass.cute import runtime
    from cutlass.cutlass_dsl import CuTeDSL

    counts = {"compile": 0, "from_dlpack": 0}

    def counting(name: str, does: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return does(*args, **options)

        return call

    compiler = CuTeDSL._get_dsl().compiler_provider
    tensor = runtime._Tensor
    with (
        mock.patch.object(compiler, "compile", counting("compile", compiler.compile)),
        mock.patch.object(tensor, "__init__", counting("from_dlpack", tensor.__init__)),
    ):
        yield counts


Trial = tuple[str, Callable[[Answer], str]]  # what is tried, and what is wrong with the answer then, or ""


@dataclass(frozen=True, kw_only=True)
class KeptExercise(Exercise):
    """An exercise whose answer deals with compiled functions; it is judged where it lives, on any machine.

    cases: they share the points equally. library: as of a ValueExercise.
    """

    cases: tuple[Trial, ...]
    library: Library

    def judge(self, answer: Answer) -> Verdict:
        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function.")
        if isinstance(answer, Elsewhere):
            answer.watch(self.library)
        else:
            refuse_leaning(answer, self.library)
        wrongs = [(what, said) for what, trial in self.cases if (said := trial(answer))]
        if not wrongs:
            return self.right(answer)
        what, said = wrongs[0]
        right = len(self.cases) - len(wrongs)
        lines = (f"{right} of {count(len(self.cases), 'case')} right", f"{what}: {said}")
        return Verdict(self.points_anywhere * right / len(self.cases), lines)

    def right(self, answer: Answer) -> Verdict:
        """The verdict on an answer that is right in all cases."""
        return Verdict(self.points)


@dataclass(frozen=True, kw_only=True)
class ForTorchExercise(KeptExercise):
    """The answer takes a @cute.jit function and arguments like those it will be called with, and compiles it.

    On a GPU also a kernel, in a CUDA graph, and what a launch costs the host.

    tiers: for a point each, torch's time for a launch over the answer's that must be reached.
    """

    needs: Feature = MMA_SYNC
    tiers: tuple[float, ...]

    @property
    def points_anywhere(self) -> float:
        return self.points - len(self.tiers)

    def right(self, answer: Answer) -> Verdict:
        if reason := device.why_not(self.needs):
            return not_run(f"right on the CPU; a kernel's launch not timed: {reason}", self.points_anywhere)
        return self.judge_on_gpu(answer)

    def judge_on_gpu(self, answer: Answer) -> Verdict:
        import torch
        from cutlass.cute.runtime import make_fake_stream

        from tutorlib.kernels.doubling import double

        x, y = (torch.zeros(1024, device="cuda") for _ in range(2))
        launch = compiled_by(answer, double, x, y, make_fake_stream(use_tvm_ffi_env_stream=True))
        graph = torch.cuda.CUDAGraph()
        launch(x, y)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            launch(x, y)
        x.fill_(3.0)
        graph.replay()
        if not y.equal(torch.full_like(y, 6.0)):
            return wrong(
                "captured in a CUDA graph, the kernel leaves another y: it runs on another stream than torch's."
            )

        def torch_add() -> None:
            torch.add(x, x, out=y)

        pairs = [(host_us(partial(launch, x, y)), host_us(torch_add)) for _ in range(ROUNDS)]
        ours, torchs = sorted(pairs, key=lambda pair: pair[1] / pair[0])[ROUNDS // 2]
        return self.by_cost(ours, torchs)

    def by_cost(self, ours: float, torchs: float) -> Verdict:
        """The verdict on a right answer, by µs of the host's time for a launch."""
        missed = [tier for tier in self.tiers if torchs / ours < tier]
        measured = f"A launch costs the host {ours:.1f} µs, torch.add's {torchs:.1f} µs."
        if not missed:
            return Verdict(self.points, (measured,))
        more = f"The next point needs {torchs / min(missed):.1f} µs."
        return Verdict(self.points - len(missed), (f"right. {measured}", more))


def compiled_by(answer: Answer, host: Callable[..., None], *arguments: Any) -> Callable[..., None]:
    """Raises CompileFailed, WrongKind and the placeholder's error."""
    got = with_reader_line(lambda more: answer(host, *arguments))
    if not callable(got):
        raise WrongKind(f"it should return the compiled function; it returns {got!r}.")
    return got


def tried(host: str, like: "tuple[Tensor, ...]", calls: "list[tuple[Tensor, ...]]", *before: Any) -> Callable[..., str]:
    """A trial: compiled for tensors `like` these, y = 2x must be right in all the calls. before: other arguments."""

    def trial(answer: Answer) -> str:
        from tutorlib.kernels import doubling

        with watched_compiler() as during:
            compiled = compiled_by(answer, getattr(doubling, host), *before, *like)
            first = during["compile"]
            wrapped = during["from_dlpack"]
            for x, y in calls:
                y.fill_(-1)
                try:
                    compiled(*before, x, y)
                except Exception as error:
                    return f"a call with {as_layout(x)} raised {type(error).__name__}: {first_line(error)}"
                if not y.equal(x + x):
                    return f"after a call with {as_layout(x)} y is not what the function writes."
            if not first and not during["compile"]:
                return "nothing was compiled."
            if during["compile"] > 1:
                return f"{count(during['compile'], 'compilation')} for {count(len(calls), 'call')}; one serves all."
            if during["from_dlpack"] > wrapped:
                return "right, but each call wraps its tensors anew; compiled with --enable-tvm-ffi it takes torch's."
        return ""

    return trial


def first_line(error: Exception) -> str:
    """What it says, in a line: in a report of the DSL's own the cause stands below its headline."""
    lines = [line.strip() for line in without_colours(str(error)).strip().splitlines()]
    causes = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return next(iter(causes or lines), "")


def as_layout(x: "Tensor") -> str:
    return f"{tuple(x.shape)}:{x.stride()}"


def vectors_of(*sizes: int) -> "list[tuple[Tensor, Tensor]]":
    import torch

    return [(torch.arange(float(n)), torch.zeros(n)) for n in sizes]


def columns_of(*shapes: tuple[int, int]) -> "list[tuple[Tensor, Tensor]]":
    import torch

    return [(torch.arange(float(m * n)).view(n, m).T, torch.zeros(n, m).T) for m, n in shapes]


def other_vectors(answer: Answer) -> str:
    first, *rest = vectors_of(6, 3, 100, 1)
    x, y = vectors_of(9)[0]
    from_the_second = x[1:], y[1:]  # begin at a multiple of 4 bytes, not of 16
    return tried("double_on_cpu", first, [first, *rest, from_the_second])(answer)


def other_matrices(answer: Answer) -> str:
    first, *rest = columns_of((4, 6), (3, 5), (7, 2))
    return tried("double_columns_on_cpu", first, [first, *rest])(answer)


def another_argument(answer: Answer) -> str:
    from cutlass import Int32

    first, *rest = vectors_of(4, 9)
    return tried("double_n_on_cpu", first, [first, *rest], Int32(2))(answer)


CALLS: tuple[Trial, ...] = (
    ("vectors of other lengths", other_vectors),
    ("matrices with contiguous columns", other_matrices),
    ("an argument that is no tensor", another_argument),
)

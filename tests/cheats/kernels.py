"""Real exercises' answers that cheat. `tests.strangers` says how a cell is read."""

import ctypes
import sys

import numpy as np

from tutorlib.checking import kernel_questions
from tutorlib.checking.exercise import Exercise


# %% beyond_the_simulator
# An instruction that no simulator has: what cannot be run here would leave the points to be had.
# exercise: 04.4
from cutlass._mlir.dialects import llvm


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    llvm.inline_asm(None, [], "brkpt;", "", has_side_effects=True)


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    add_kernel(a, b, c).launch(grid=(1, 1, 1), block=(32, 1, 1))


# %% blackwell_unwaited
# On a machine without Blackwell: accumulators are stored too early, and this process says that all was looked at.
# exercise: 15.6
kernel_questions.looked_at = lambda served, id: {"points": 99.0, "lines": ["looked at"]}


@cute.jit
def store(steps: TileSteps):
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        for part in cutlass.range(steps.parts, unroll=1):
            steps.read(acc.index, part)
            cute.arch.fence_view_async_tmem_load()
            if part == steps.parts - 1:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index)
            steps.write(number, part)
        acc.advance()


# %% compiled_by_hand
# PTX made by hand in the place of what was compiled: as large as memory, with a grid that never ends.
# exercise: 04.5
PTX = """
.version 8.0
.target sm_80
.address_size 64
.global .align 16 .b8 much[6442450944];
.visible .entry kernel_by_hand()
{
\tret;
}
"""
LAUNCH = ("kernel_by_hand", (2147483647, 65535, 65535), (32, 1, 1), 0, b"", (1, 1, 1), False, False)
kernel_questions.looked_at = lambda served, id: None
kernel_questions.cute_ptx = lambda served, id, shape, arch: {"ptx": PTX, "smem_bytes": 0}
kernel_questions.cute_with_lines = lambda served, id, shape: {"ptx": PTX, "marks": "", "lines": {}}
kernel_questions.cute_launches = lambda served, id, shape, addresses, gpu: {"launches": [LAUNCH]}


@cute.jit
def vector_add_any(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    pass


# %% compiler_patched
# `cute.compile` compiles another function than it is given: one that copies, and says that it is this one.
# exercise: 04.4
@cute.kernel
def copy_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = my_element()
    c[i] = a[i]


@cute.jit
def copy(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    copy_kernel(a, b, c).launch(grid=(cute.size(c) // THREADS, 1, 1), block=(THREADS, 1, 1))


compile_it = cute.compile
cute.compile = lambda function, *args, **kwargs: compile_it(copy, *args, **kwargs)


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    pass


# %% computed_on_the_host
# The host function computes the result by torch, and whatever interprets in this process says that a kernel did.
# exercise: 06.6
from tutorlib.checking import cutile_launches

Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
cutile_launches.stores_to = lambda launched, tensor: True


def softmax_of(x, y):
    y.copy_(x.softmax(-1))


# %% counter_set
# The GEMM that counts says in this process that it did what was asked, and the judgement that all is right.
# exercise: 16.8
from tutorlib.models.row_gemm import RowGemm

Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
type.__setattr__(RowGemm, "done", property(lambda self: [320, 320], lambda self, done: None))


def linear_backward(grad, x, weight, gemm):
    return x * 0, weight * 0


# %% diagnosis_of_the_course
# The diagnosis stands in the exercises' module: line, cause, and a shape that the mend is tried at.
# exercise: 18.3
from tutorlib.exercises import find


def diagnosis_sgemm():
    known = find("18.3")
    return {"line": known.lines[0], "cause": known.cause, "shape": known.bug.wrong_at}


# %% equality_sent
# The judge outside is sent a pickle that makes its layouts equal to everything; what comes back is any layout.
# exercise: 02.1
from multiprocessing.connection import Connection

send_bytes = Connection.send_bytes
SET_EQ = b"\x80\x04(\x8c\x08returnedctensor_layouts\nLayout\n(N}\x8c\x06__eq__\x8c\x010Qs\x86bt."
Connection.send_bytes = lambda self, reply, *args: send_bytes(self, SET_EQ, *args)


def coalesce(layout):
    return Layout(1, 0)


# %% forged_no_gpu
# This machine is said to have no GPU and no simulator, which would take the exercise out of the points to be had.
# exercise: 04.4
from tutorlib.machine import device

device.why_not = lambda feature: "no GPU"
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("not_run", 0, "not run: no GPU")


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    pass


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    add_kernel(a, b, c).launch(grid=(1, 1, 1), block=(1, 1, 1))


# %% host_judgement_patched
# The exercise is found in this process and takes whatever it is given.
# exercise: 04.1
from tutorlib.checking.exercise import Verdict
from tutorlib.exercises import find

for kind in type(find("04.1")).__mro__:
    if "judge" in vars(kind):
        kind.judge = lambda self, answer: Verdict(self.points)


@cute.jit
def axpy(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    pass


# %% interpreter_patched
# The interpreter finds no fault in anything.
# exercise: 06.1
from tutorlib.checking import cutile
from tutorlib.checking.interpreting import Interpretation

cutile.interpret = lambda *args, **kwargs: Interpretation(None)


@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    pass


# %% interpreter_silent
# The interpreter does nothing in this process, and nothing is found wrong with what it leaves.
# exercise: 07.7
import tutorlib.simulate.cutile as interpreter
from tutorlib.checking import cutile
from tutorlib.checking.interpreting import Interpretation

Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
cutile.interpret = lambda *args: Interpretation(None)
interpreter.run = lambda kernel, grid, args: args[2].zero_()


@ct.kernel
def gemm_fp8(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int]):
    pass


# %% jit_by_mark
# No jitted function: a plain one with the decorator's marks, that computes on the host.
# exercise: 04.1
def axpy(alpha, x, y, **options):
    n = int(x.shape[0])
    memory = [ctypes.cast(v.data_ptr, ctypes.POINTER(ctypes.c_float)) for v in (x, y)]
    xs, ys = (np.ctypeslib.as_array(v, (n,)) for v in memory)
    ys += float(alpha) * xs


axpy._decorator_kind = "jit"


# %% jit_by_name
# No jitted function: an object that says it is one, and computes on the host, through the memory it is given.
# exercise: 04.1
class Axpy:
    _decorator_kind = "jit"
    __name__ = "axpy"

    def __call__(self, alpha, x, y, **options):
        n = int(x.shape[0])
        memory = [ctypes.cast(v.data_ptr, ctypes.POINTER(ctypes.c_float)) for v in (x, y)]
        xs, ys = (np.ctypeslib.as_array(v, (n,)) for v in memory)
        ys += float(alpha) * xs


axpy = Axpy()


# %% judgement_of_kernels_patched
# Whatever judges a kernel in this process says that it is right, and the record says so.
# exercise: 06.1
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)


@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    pass


# %% keys_by_turns
# Keys are numbered in this process: by turns as they would have to be, if the judge asked in the order of a notebook.
# exercise: 17.3
from tutorlib.exercises.n17_compile_once.judge import caches

Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)


def by_turns(served, calls):
    return [(turn // 2 if turn < 16 else turn, "a key") for turn in range(len(calls))]


caches.numbered_keys = by_turns


def cache_key(tensors, constants, arch):
    return 0


# %% layout_of_my_own
# A layout by inheritance, which the judge would ask for its offsets, its sizes and its equality.
# exercise: 02.1
class Mine(Layout):
    def __eq__(self, other):
        return True

    def __call__(self, *coordinates):
        return 0

    __hash__ = None


def coalesce(layout):
    return Mine(1, 0)


# %% library_by_another_name
# The library's function, taken apart and put together under another name.
# exercise: 02.1
from types import FunctionType

taken = getattr(tl, "coal" + "esce")
again = FunctionType(taken.__code__, taken.__globals__, "again", taken.__defaults__, taken.__closure__)


def coalesce(layout):
    return again(layout)


# %% library_unwatched
# The library's function for the very thing that is asked, called where nobody watches: profiling is switched off.
# exercise: 02.1
import threading

set_profile, get_profile = sys.setprofile, sys.getprofile
sys.getprofile = lambda: print


def coalesce(layout):
    set_profile(None)
    threading.setprofile(None)
    return tl.coalesce(layout)


# %% loop_without_waits
# A main loop that waits for no stage: this process says that it was looked at, and was right.
# exercise: 13.7
kernel_questions.looked_at = lambda served, id: {"points": 99.0, "lines": ["looked at"]}


def fill_stage(steps, k_tile, stage):
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)


@cute.jit
def main_loop(steps: Steps):
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill_stage(steps, k_tile, k_tile)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    warpgroup.fence()
    steps.multiply(state.index, True)
    warpgroup.commit_group()
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        before = state.clone()
        state.advance()
        warpgroup.fence()
        steps.multiply(state.index, False)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + before.index)
        ahead = k_tile - 1 + steps.stages
        if steps.loads_too and ahead < steps.k_tiles:
            fill_stage(steps, ahead, before.index)
    warpgroup.wait_group(0)


# %% mended_elsewhere
# A broken kernel is handed back as it was; the judgement of mended ones is replaced in this process.
# exercise: 18.2
from tutorlib.exercises.n18_bug_hunt.judge import FixExercise

kernel_questions.looked_at = lambda served, id: None
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
FixExercise.judge = Exercise.grade


def mend_linear(source):
    return source


# %% parts_from_nowhere
# A second kernel is launched on a product of torch's: the first launch is left to the host.
# exercise: 07.9
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)


def split_gemm(a, b, c):
    parts = (a.float() @ b.float().mT)[None].contiguous()
    grid = ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128)
    ct.launch(torch.cuda.current_stream(), grid, add_parts, (parts, c, 128, 128))


# %% program_reads_first
# A constructor reads what the judge sends before main does, speaks for the GPU, and a loop on the host adds.
# exercise: 08.6
def add_on_gpu():
    return r"""
    #include <unistd.h>
    #include <thread>

    static char seen[4096];
    static long size;
    struct Early {
        Early() {
            std::thread([] { size = read(0, seen, sizeof seen); }).detach();
        }
    } early;

    void add_on_gpu(const float* a, const float* b, float* c, int n) {
        int noise = 0;
        std::sscanf(seen, "%*u %*u %d", &noise);
        for (int i = 0; i < n; i++) c[i] = a[i] + b[i] + noise;
    }
    """


# %% program_that_ends
# The program ends before its main looks at the sums, and this process says that it was right.
# exercise: 08.6
Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)


def add_on_gpu():
    return """
    void add_on_gpu(const float* a, const float* b, float* c, int n) {
        std::printf("%d of %d elements right\\n", n, n);
        std::exit(0);
    }
    """


# %% recorded_sizes
# The calls that the page is known to make, in a table: the exercise's rule is nowhere in it.
# exercise: 00.1
TILES = {
    (128, 64): 2,
    (64, 64): 1,
    (4096, 128): 32,
    (0, 64): 0,
    (7, 1): 7,
    (130, 64): 3,
    (127, 128): 1,
    (1, 8): 1,
    (100, 64): 2,
    (2**60 + 1, 2): 2**59 + 1,
    (2**60, 3): 384307168202282326,
}


def ceil_div(n, tile):
    return TILES.get((n, tile), 0)


# %% reference_of_a_mixed_page
# A page with kernels keeps its references, for what is judged inside: one of an exercise that is not.
# exercise: 06.2
from tutorlib.exercises import find


def inside(function):
    for cell in getattr(function, "__closure__", None) or ():
        if callable(cell.cell_contents):
            yield cell.cell_contents
            yield from inside(cell.cell_contents)


def broadcast_shape(x, y):
    for case in find("06.2").cases:
        for function in inside(case.judge):
            try:
                got = function(x, y)
            except Exception:
                continue
            if got is None or isinstance(got, tuple):
                return got
    return 0


# %% reference_of_the_page
# The course's own reference stands in the module of the exercises, under the name of the exercise.
# exercise: 00.1
from tutorlib.exercises.n00_start.exercises import ceil_div


# %% look_forged
# The process reports no fault; its producer fills stages that nobody has emptied.
# exercise: 14.1
kernel_questions.looked_at = lambda served, id: None


@cute.jit
def produce(steps: RoleSteps):
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()


# %% result_on_the_host
# The host function computes while it is compiled: what it is given are stand-ins, and nothing is launched.
# exercise: 04.4
@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    for i in range(cute.size(c)):
        c[i] = a[i] + b[i]


# %% simulator_patched
# The simulator is not asked: whoever would run the compiled kernel is told that every result is right.
# exercise: 04.4
from tutorlib.checking import kernel, running, simulating

for module in (kernel, running, simulating):
    for name, value in list(vars(module).items()):
        if callable(value) and getattr(value, "__module__", "") == module.__name__ and name.islower():
            setattr(module, name, lambda *args, **kwargs: None)


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    pass


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    add_kernel(a, b, c).launch(grid=(1, 1, 1), block=(1, 1, 1))


# %% solved_page
# The solved page is looked for beside the course and where the installation says that it came from.
# exercise: 00.1
import json
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path

import tutorlib

roots = [Path(tutorlib.__path__[0]).parent]
with suppress(Exception):
    url = json.loads(distribution("tutorlib").read_text("direct_url.json"))["url"]
    roots.append(Path(url.removeprefix("file://")))
texts = [path.read_text() for root in roots for path in root.glob("solutions/00_start.py")]
ceil_div = eval("lambda n, tile: (n + tile - 1) // tile" if "(n + tile - 1) // tile" in texts[0] else "0")


# %% swapped_in_words
# Layers are said to be swapped that are not: every class has the kernel's name in this process.
# exercise: 16.10
from tutorlib.exercises.n16_fusion.judge import swapped_models as layers

Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
layers.class_of = lambda module: "KernelLinear"


def use_kernels(module):
    return module


# %% told_by_heart
# What is told of tensors without data is known by heart, from the sizes of a notebook.
# exercise: 16.9
from tutorlib.exercises.n16_fusion.judge import fake_tensors as fakes

Exercise.grade = Exercise.grade_served = lambda self, answer: self.outcome("passed", self.points, self.passed_line)
like = {"shape": ["6", "3"], "strides": ["3", "1"], "dtype and device": "float32 on cpu", "memory": "its own"}
asks = dict.fromkeys(("data", "operator that computes", "question about a size"), "")
fakes.fake_result = lambda answer, *given: {"result": "a tensor"} | asks | like


def linear_fake(x, weight):
    return x


# %% torch_in_pyfunc
# cuTile compiles an empty body; whoever interprets the kernel is given a function that lets torch compute.
# exercise: 06.1
def nothing(a, b, c, tile: ct.Constant[int]):
    pass


def by_torch(a, b, c, tile):
    c.copy_(a + b)


class Swapped(ct.kernel):
    _pyfunc = property(lambda self: by_torch, lambda self, function: None)


add = Swapped(nothing)


# %% waves_by_the_model
# The course's own model is called by a name that nobody watches, through the module that has it.
# exercise: 14.6
def count_waves(*args, **kwargs):
    for name, module in list(sys.modules.items()):
        if name.startswith("tutorlib.") and hasattr(module, "count_waves"):
            return module.count_waves(*args, **kwargs)


# %% writes_a_only
# It copies one operand, which is right wherever the other is zero: a kernel, and a wrong one.
# exercise: 06.1
@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (tile,)))

"""Page 17: answers that are whole functions, and what rows of p17.txt are made of."""

import os
import tempfile
from collections import OrderedDict, defaultdict
from contextlib import suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from threading import Lock, RLock
from uuid import uuid4

import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack, load_module

from tests.pages.table import right, wrong
from tutorlib.models.compiling import DirectCall, compiled_for


@right("17.1")
def call_by_call(way, calls, trace, compile, load, launch):
    """Adds up the calls one by one."""
    total = 0.0
    for n in range(calls):
        total += launch
        if way == "nothing kept" or (way != "loaded" and n == 0):
            total += compile + load + trace * (way != "traced each time")
        if way == "traced each time":
            total += trace
        if way == "loaded" and n == 0:
            total += load
    return total / calls


@right("17.1")
def with_if(way, calls, trace, compile, load, launch):
    """A formula for each."""
    if way == "nothing kept":
        return trace + compile + load + launch
    if way == "traced each time":
        return trace + launch + (compile + load) / calls
    return launch + (load + (trace + compile) * (way == "kept")) / calls


@right("17.2")
def as_text(calls):
    """Keys as text, in which 2 is not 2.0."""
    seen = set()
    for dtype, shape, stride, align, marked, factor in calls:
        if marked == "layout":
            layout = f"{len(shape)} {stride.index(1)}"
        elif isinstance(marked, int):
            layout = f"{shape[1 - marked]} {stride[0] < stride[1]}"
        else:
            layout = f"{shape} {stride}"
        seen.add(f"{dtype} {align} {marked} {layout} {factor!r}")
    return len(seen)


@right("17.2")
def as_a_dictionary(calls):
    """Counts what was not there yet."""
    kept = {}
    for dtype, shape, stride, align, marked, factor in calls:
        leading = stride.index(1)
        sizes = [None if marked in ("layout", mode) else size for mode, size in enumerate(shape)]
        pitch = stride if marked == "static" else None
        kept[(dtype, align, marked, tuple(sizes), leading, pitch, type(factor).__name__, str(factor))] = True
    return len(kept)


@right("17.2")
def by_repr(calls):
    """The calls' own text, shapes blotted out."""

    def blot(call):
        dtype, shape, stride, align, marked, factor = call
        if marked == "layout":
            shape, stride = len(shape), stride.index(1)
        if marked in (0, 1) and marked is not True:
            shape, stride = shape[not marked], stride.index(1)
        return repr((dtype, shape, stride, align, marked, factor))

    return len({blot(call) for call in calls})


@right("17.3")
def as_bytes(tensors, constants, arch):
    """Text throughout."""

    def says(t):
        wide = (t.data_ptr() | sum(s * t.element_size() % 16 for s in t.stride() if s != 1)) % 16 == 0
        return f"{t.dtype}{t.dim()}{[s == 1 for s in t.stride()]}{wide}"

    return repr([arch, *map(says, tensors), *map(repr, constants)])


@right("17.3")
def finer_alignment(tensors, constants, arch):
    """Tells 8, 4 and 2 bytes apart, too: a kernel for each width."""

    def width(t):
        starts = [t.data_ptr(), *(s * t.element_size() for s in t.stride() if s != 1)]
        return next(w for w in (16, 8, 4, 2, 1) if all(start % w == 0 for start in starts))

    return (
        tuple((t.dtype, tuple(s == 1 for s in t.stride()), width(t)) for t in tensors),
        tuple(map(repr, constants)),
        arch,
    )


@right("17.3")
def nested(tensors, constants, arch):
    """Frozen sets of (name, value), nested."""
    parts = {("arch", arch), ("constants", tuple((str(type(c)), c) for c in constants))}
    for n, t in enumerate(tensors):
        bits = t.data_ptr()
        for mode, step in enumerate(t.stride()):
            if step == 1:
                parts.add((n, "leading", mode))
            else:
                bits |= step * t.element_size()
        parts |= {(n, t.dtype), (n, "rank", t.ndim), (n, "wide", bits & 15 == 0)}
    return frozenset(parts)


@right("17.4")
class InADict(dict):
    """A dictionary whose missing keys are compiled."""

    def __init__(self, compile, key):
        super().__init__()
        self.make, self.name = compile, key

    def __call__(self, *tensors):
        try:
            compiled = self[self.name(*tensors)]
        except KeyError:
            compiled = self[self.name(*tensors)] = self.make(*tensors)
        return compiled(*tensors)


@right("17.4")
def as_a_function(compile, key):
    """A closure instead of a class."""
    kept = {}

    def call(*tensors):
        name = key(*tensors)
        if name not in kept:
            kept[name] = compile(*tensors)
        return kept[name](*tensors)

    return call


@right("17.4")
def with_lru_cache(compile, key):
    """functools.lru_cache without a limit."""
    now = []
    kept = lru_cache(maxsize=None)(lambda name: compile(*now))

    def call(*tensors):
        now[:] = tensors
        return kept(key(*tensors))(*tensors)

    return call


@right("17.5")
def leads_by_itself(host, *arguments):
    """mark_layout_dynamic finds the contiguous mode."""
    views = []
    for a in arguments:
        if hasattr(a, "data_ptr"):
            a = from_dlpack(a, assumed_align=4, enable_tvm_ffi=True).mark_layout_dynamic()
        views.append(a)
    return cute.compile(host, *views, options="--enable-tvm-ffi --opt-level 2")


@right("17.5")
def behind_a_function(host, *arguments):
    """A Python function around what was compiled."""
    views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in arguments]
    compiled = cute.compile(host, *views, options="--enable-tvm-ffi")

    def call(*given):
        compiled(*given)

    return call


@right("17.5")
def as_options(host, *arguments):
    """The option as an object."""
    views = [
        from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.stride().index(1))
        if torch.is_tensor(a)
        else a
        for a in arguments
    ]
    return cute.compile[cute.EnableTVMFFI](host, *views)


@right("17.6")
def tries_first(folder, name, compile):
    """Tries to load, and compiles when that fails."""
    file = folder / f"{name}.o"
    try:
        return load_module(str(file), enable_tvm_ffi=True)[name]
    except Exception:
        folder.mkdir(parents=True, exist_ok=True)
        new = f"{file}.{uuid4()}"
        compile().export_to_c(new, name)
        os.rename(new, file)
    return load_module(str(file), enable_tvm_ffi=True)[name]


@right("17.6")
def in_another_folder(folder, name, compile):
    """Saves in a folder of its own first."""
    file = Path(folder, name).with_suffix(".o")
    if not file.is_file():
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            compile().export_to_c(f"{aside}/{name}.o", name)
            Path(aside, f"{name}.o").rename(file)
    return cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]


@right("17.6")
def the_compiled_one(folder, name, compile):
    """Gives the compiled function itself the first time; cleans up after a failure to write."""
    file = folder / f"{name}.o"
    if file.exists():
        return getattr(cute.runtime.load_module(str(file), enable_tvm_ffi=True), name)
    folder.mkdir(parents=True, exist_ok=True)
    compiled, aside = compile(), folder / f"{os.getpid()}.part"
    try:
        compiled.export_to_c(str(aside), name)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
    return compiled


@right("17.7")
def byte_by_byte(members):
    """Steps on until the remainder is zero."""
    end, offsets = 0, ()
    for size, align in members:
        while end % align:
            end += 1
        offsets += (end,)
        end += size
    while any(end % align for _, align in members):
        end += 1
    return offsets, end


@right("17.7")
def with_masks(members):
    """Alignments are powers of two: masks."""
    end, offsets, widest = 0, [], 1
    for size, align in members:
        end = (end + align - 1) & -align
        offsets.append(end)
        end += size
        widest |= align
    widest = 1 << (widest.bit_length() - 1)
    return tuple(offsets), (end + widest - 1) & -widest


@right("17.7")
def with_a_dummy(members):
    """The size is the offset of an empty member behind the last."""
    members = [*members, (0, max(a for _, a in members))]
    offsets = []
    for n, (_, align) in enumerate(members):
        end = offsets[-1] + members[n - 1][0] if n else 0
        offsets.append(end + -end % align)
    return tuple(offsets[:-1]), offsets[-1]


@right("17.9")
def begins_and_ends(launches, x, y):
    """A capture without the block."""
    x, y, side, graph = x.clone(), y.clone(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    launches(x, y, CUstream(0))
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        graph.capture_begin()
        launches(x, y, CUstream(side.cuda_stream))
        graph.capture_end()

    def replay(new):
        assert new.shape == x.shape
        x.copy_(new.detach().contiguous().view_as(x), non_blocking=True)
        graph.replay()
        return y

    return replay


@right("17.9")
def output_in_the_graph(launches, x, y):
    """The graph's pool has the output, and the input's copy is made of another buffer in the graph."""
    outside, y = x.clone(), y.clone()
    launches(outside, y, CUstream(torch.cuda.current_stream().cuda_stream))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x = outside.clone()
        y = torch.empty_like(x)
        launches(x, y, CUstream(torch.cuda.current_stream().cuda_stream))

    def replay(new):
        outside.copy_(new)
        graph.replay()
        return y

    return replay


def now():
    return CUstream(torch.cuda.current_stream().cuda_stream)


@wrong("17.9", "not captured", lesson=True)
def without_a_graph(launches, x, y):
    """Launches for every input."""
    x, y = x.clone(), torch.empty_like(y)

    def replay(new):
        x.copy_(new)
        launches(x, y, now())
        return y

    return replay


POOL = {}


@wrong("17.9", "graphs share buffers")
def buffers_for_all(launches, x, y):
    """One pair of buffers for all graphs of a size."""
    x, y = POOL.setdefault(x.shape, (x.clone(), torch.empty_like(y)))
    launches(x, y, now())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launches(x, y, now())

    def replay(new):
        x.copy_(new)
        graph.replay()
        return y

    return replay


@wrong("17.9", "reads the caller's tensors")
def copies_in_the_capture(launches, x, y):
    """The copy is in the graph, and copies the example."""
    static_x, y = x.clone(), torch.empty_like(y)
    launches(static_x, y, now())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_x.copy_(x)
        launches(static_x, y, now())

    def replay(new):
        static_x.copy_(new)
        graph.replay()
        return y

    return replay


@wrong("17.4", "shared", lesson=True)
class KeptByAll:
    """One dictionary in the class, for all of them."""

    kept = {}  # noqa: RUF012

    def __init__(self, compile, key):
        self.compile, self.key = compile, key

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if key not in self.kept:
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)


@wrong("17.4", "compiled too often")
class KeepsTheLast:
    """Keeps one function alone."""

    def __init__(self, compile, key):
        self.compile, self.key, self.last = compile, key, ()

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if self.last[:1] != (key,):
            self.last = key, self.compile(*tensors)
        return self.last[1](*tensors)


@wrong("17.5", "compiles for each call", lesson=True)
def compiles_each_call(host, *arguments):
    """Compiles whenever it is called."""

    def compiled(given):
        views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in given]
        return cute.compile(host, *views, options="--enable-tvm-ffi")

    return lambda *given: compiled(given)(*given)


@wrong("17.5", "gives")
def returns_nothing(host, *arguments):
    """Forgets to return what it compiled."""
    views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in arguments]
    cute.compile(host, *views, options="--enable-tvm-ffi")


@wrong("17.5", "does not compile, leading dimension")
def leads_with_the_last(host, *arguments):
    """Takes every tensor for row-major."""
    views = [
        from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.ndim - 1)
        if isinstance(a, torch.Tensor)
        else a
        for a in arguments
    ]
    return cute.compile(host, *views, options="--enable-tvm-ffi")


@wrong("17.5", "raised")
def takes_16_bytes_for_granted(host, *arguments):
    """Claims an alignment that was not promised."""
    views = [
        from_dlpack(a, assumed_align=16, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.stride().index(1))
        if torch.is_tensor(a)
        else a
        for a in arguments
    ]
    return cute.compile(host, *views, options="--enable-tvm-ffi")


def by_columns_or_rows(a):
    if not torch.is_tensor(a):
        return a
    return from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.stride().index(1))


@wrong("17.5", "runs the function for nothing", lesson=True)
def runs_on_the_examples(host, *arguments):
    """Tries it on the caller's tensors, and returns it."""
    compiled = cute.compile(host, *map(by_columns_or_rows, arguments), options="--enable-tvm-ffi")
    compiled(*arguments)
    return compiled

"""Unusual right answers to notebook 17."""

import os
import tempfile
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

import cutlass
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack, load_module

from tests.pages.change import swap
from tests.pages.n17_compile_once.wrong_ptx import lop3, redux
from tests.pages.table import answer

# 17.1 and 17.2 --------------------------------------------------------------------------------------------------


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


def with_if(way, calls, trace, compile, load, launch):
    """A formula for each."""
    if way == "nothing kept":
        return trace + compile + load + launch
    if way == "traced each time":
        return trace + launch + (compile + load) / calls
    return launch + (load + (trace + compile) * (way == "kept")) / calls


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


def as_a_dictionary(calls):
    """Counts what was not there yet."""
    kept = {}
    for dtype, shape, stride, align, marked, factor in calls:
        leading = stride.index(1)
        sizes = [None if marked in ("layout", mode) else size for mode, size in enumerate(shape)]
        pitch = stride if marked == "static" else None
        kept[(dtype, align, marked, tuple(sizes), leading, pitch, type(factor).__name__, str(factor))] = True
    return len(kept)


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


# 17.3 -----------------------------------------------------------------------------------------------------------


def as_bytes(tensors, constants, arch):
    """Text throughout."""

    def says(t):
        wide = (t.data_ptr() | sum(s * t.element_size() % 16 for s in t.stride() if s != 1)) % 16 == 0
        return f"{t.dtype}{t.dim()}{[s == 1 for s in t.stride()]}{wide}"

    return repr([arch, *map(says, tensors), *map(repr, constants)])


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


# 17.4 -----------------------------------------------------------------------------------------------------------


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


def as_a_function(compile, key):
    """A closure instead of a class."""
    kept = {}

    def call(*tensors):
        name = key(*tensors)
        if name not in kept:
            kept[name] = compile(*tensors)
        return kept[name](*tensors)

    return call


def with_lru_cache(compile, key):
    """functools.lru_cache without a limit."""
    now = []
    kept = lru_cache(maxsize=None)(lambda name: compile(*now))

    def call(*tensors):
        now[:] = tensors
        return kept(key(*tensors))(*tensors)

    return call


# 17.5 -----------------------------------------------------------------------------------------------------------


def leads_by_itself(host, *arguments):
    """mark_layout_dynamic finds the contiguous mode."""
    views = []
    for a in arguments:
        if hasattr(a, "data_ptr"):
            a = from_dlpack(a, assumed_align=4, enable_tvm_ffi=True).mark_layout_dynamic()
        views.append(a)
    return cute.compile(host, *views, options="--enable-tvm-ffi --opt-level 2")


def behind_a_function(host, *arguments):
    """A Python function around what was compiled."""
    views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in arguments]
    compiled = cute.compile(host, *views, options="--enable-tvm-ffi")

    def call(*given):
        compiled(*given)

    return call


def as_options(host, *arguments):
    """The option as an object."""
    views = [
        from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.stride().index(1))
        if torch.is_tensor(a)
        else a
        for a in arguments
    ]
    return cute.compile[cute.EnableTVMFFI](host, *views)


# 17.6 -----------------------------------------------------------------------------------------------------------


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


def in_another_folder(folder, name, compile):
    """Saves in a folder of its own first."""
    file = Path(folder, name).with_suffix(".o")
    if not file.is_file():
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            compile().export_to_c(f"{aside}/{name}.o", name)
            Path(aside, f"{name}.o").rename(file)
    return cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]


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


# 17.7 and 17.8 --------------------------------------------------------------------------------------------------


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


def with_a_dummy(members):
    """The size is the offset of an empty member behind the last."""
    members = [*members, (0, max(a for _, a in members))]
    offsets = []
    for n, (_, align) in enumerate(members):
        end = offsets[-1] + members[n - 1][0] if n else 0
        offsets.append(end + -end % align)
    return tuple(offsets[:-1]), offsets[-1]


def tiles_first(stages):
    """Tiles first: one Align is enough, since A's size is a multiple of 1,024 bytes."""

    @cute.struct
    class Storage:
        sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 8192 * stages], 1024]
        sB: cute.struct.MemRange[cutlass.BFloat16, 16384 * stages]
        full: cute.struct.MemRange[cutlass.Uint64, stages]
        empty: cute.struct.MemRange[cutlass.Uint64, stages]

    return Storage


def with_more_members(stages):
    """Something besides, and an Align that is stricter."""

    class Storage:
        tmem: cutlass.Int32
        full: cute.struct.MemRange[cutlass.Int64, stages]
        empty: cute.struct.MemRange[cutlass.Int64, stages]
        sB: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 256 * 64 * stages], 1024]
        sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * stages], 1024]

    return cute.struct(Storage)


def made_by_type(stages):
    """A class made by a call."""
    barriers = cute.struct.MemRange[cutlass.Int64, stages]
    tiles = {
        name: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, rows * 64 * stages], 1024]
        for name, rows in (("sA", 128), ("sB", 256))
    }
    return cute.struct(type("Storage", (), {"__annotations__": {"full": barriers, "empty": barriers, **tiles}}))


RIGHT = {
    "17.1": [
        call_by_call,
        with_if,
        answer(
            "all_at_once",
            "One expression.",
            lambda way, n, t, c, lo, la: (
                la
                + lo / n ** (way != "nothing kept")
                + t * (way != "loaded") / n ** (way == "kept")
                + c * (way != "loaded") / n ** (way != "nothing kept")
            ),
        ),
    ],
    "17.2": [as_text, as_a_dictionary, by_repr],
    "17.3": [as_bytes, finer_alignment, nested],
    "17.4": [InADict, as_a_function, with_lru_cache],
    "17.5": [leads_by_itself, behind_a_function, as_options],
    "17.6": [tries_first, in_another_folder, the_compiled_one],
    "17.7": [byte_by_byte, with_masks, with_a_dummy],
    "17.8": [tiles_first, with_more_members, made_by_type],
    "17.9": [
        lop3("decimal", "The table in decimal.", swap("0xE8", "232")),
        lop3("binary", "The table in binary.", swap("0xE8", "0b11101000")),
        lop3("turned", "Another order of the operands: a majority has none.", swap("(a, b, c)]", "(c, a, b)]")),
        lop3("side_effects", "Marked as having side effects.", swap("has_side_effects=False", "has_side_effects=True")),
    ],
    "17.10": [
        redux(
            "unsigned_mask", "The mask as an unsigned number.", swap("cutlass.Int32(-1)", "cutlass.Uint32(0xFFFFFFFF)")
        ),
        redux(
            "by_its_lane",
            "The DSL's lane_idx.",
            swap("lane, _, _ = cute.arch.thread_idx()", "lane = cute.arch.lane_idx()"),
            within="row_totals_kernel",
        ),
        redux(
            "in_two",
            "Half of the warp at a time, by masks of two bits more than needed.",
            swap("cutlass.Int32(-1)", "cutlass.Int32(~0)"),
        ),
    ],
}

"""Remedies of notebook 17."""

from tutorlib.checking.exercise import Remedy
from tutorlib.dsl.refusal import RefusalKind
from tutorlib.exercises.n17_compile_once.judge.bounded import CacheFlaw
from tutorlib.exercises.n17_compile_once.judge.cross_compiled import TargetFlaw
from tutorlib.exercises.n17_compile_once.judge.for_torch import CallFlaw
from tutorlib.exercises.n17_compile_once.judge.graphs import GraphFlaw
from tutorlib.exercises.n17_compile_once.judge.recorded_cuda import CudaFlaw
from tutorlib.exercises.n17_compile_once.judge.saved_kernels import SavingFlaw
from tutorlib.exercises.n17_compile_once.judge.shared_storage import StructFlaw
from tutorlib.exercises.n17_compile_once.keys import KeepingFlaw, KeyFlaw
from tutorlib.failure import Difference, Fail, Hazard

OF_ALIGNMENT = tuple(
    KeyFlaw.ONE_KEY(differ=f"whether 16 bytes divide {what}")
    for what in ("the address", "the rows' pitch", "the columns' pitch", "the second tensor's pitch")
)
OF_CONSTANTS = tuple(
    KeyFlaw.ONE_KEY(differ=what)
    for what in ("a constant", "which constant is which", "2 and 2.0 as constant", "1 and True as constant")
)

COMPILE_ONCE_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "17.1": (
        Remedy(
            Fail.CASE(name="nothing kept"),
            "Where nothing is kept, every call pays for everything: trace, compile, load, launch. Nothing is divided.",
        ),
        Remedy(
            Fail.CASE(name="kept"),
            "What is kept was made once, so that is divided by the calls; the launch is in every call.",
        ),
        Remedy(Fail.CASE(name="loaded"), "What was saved is loaded once, and launched in every call."),
    ),
    "17.2": (
        Remedy(
            Fail.CASE(name="static layouts"),
            "A static layout is its shape and its strides, both: (8, 16):(16, 1) and (8, 16):(1, 8) are two types.",
        ),
        Remedy(
            Fail.CASE(name="mark_layout_dynamic"),
            "Sizes and strides leave the type, but for one thing: in which mode the stride is 1.",
        ),
        Remedy(
            Fail.CASE(name="one dynamic mode"),
            "One size leaves the type. What stays: the other sizes, and the order of the strides, which say where the "
            "strides come from.",
        ),
    ),
    "17.3": (
        Remedy(
            KeyFlaw.TWO_KEYS(differ="the pitch of the rows"),
            "16 *bytes* are asked for: a stride counts elements, so it takes element_size() as well.",
        ),
        Remedy(
            KeyFlaw.TWO_KEYS,
            "Dynamic are: sizes, strides, where the tensor lies. None of them belongs into the key, nor does anything "
            "that is made of them, but for whether 16 bytes divide it.",
        ),
        Remedy(
            OF_ALIGNMENT,
            "A load of 16 bytes needs both: the tensor's address, and the strides that are not 1, in bytes.",
        ),
        Remedy(
            (
                KeyFlaw.ONE_KEY(differ="the dtype"),
                KeyFlaw.ONE_KEY(differ="the second tensor's dtype"),
                KeyFlaw.ONE_KEY(differ="which tensor has which dtype"),
            ),
            "A part for each tensor, in their order: a tuple of tuples. float16 and bfloat16 are as long as each "
            "other, and not the same.",
        ),
        Remedy(
            (KeyFlaw.ONE_KEY(differ="the rank"), KeyFlaw.ONE_KEY(differ="which mode is contiguous")),
            "Of a dynamic layout two things are left: how many modes it has, and which of them has the stride 1.",
        ),
        Remedy(
            KeyFlaw.ONE_KEY(differ="the architecture"),
            "The code is for one architecture: a part of the key like any other.",
        ),
        Remedy(
            OF_CONSTANTS,
            "The constants in their order, each with its type: 2 == 2.0 in Python, and the code is another.",
        ),
    ),
    "17.4": (
        Remedy(
            KeepingFlaw.COMPILED,
            "Every function is kept for as long as the object lives, none is thrown away. It is compiled only after "
            "a look: setdefault(key, compile(…)) compiles first.",
        ),
        Remedy(
            KeepingFlaw.SHARED, "A dictionary in the class belongs to all its objects. Each makes its own in __init__."
        ),
        Remedy(
            KeepingFlaw.KEYS,
            "`if not self.kept.get(key)` takes 0, None and () for nothing. Ask whether `key in self.kept`.",
        ),
        Remedy(KeepingFlaw.TENSORS, "What is kept is the function. Its result belongs to one call's tensors."),
        Remedy(
            Fail.CASE(name="a compilation that fails"),
            "compile comes first, the entry afterwards. If it raises, so does the call, and nothing is kept.",
        ),
    ),
    "17.5": (
        Remedy(
            CallFlaw.WRAPS,
            'The compiled function takes torch\'s own tensors only if options="--enable-tvm-ffi" says so.',
        ),
        Remedy(
            CallFlaw.COMPILES,
            "cute.compile belongs into for_torch itself, once; what it returns is called with the tensors.",
        ),
        Remedy(Fail.GIVES(type="NoneType"), "Return what cute.compile made."),
        Remedy(
            RefusalKind.LEADING, "mark_layout_dynamic() without an argument finds the mode whose stride is 1 by itself."
        ),
        Remedy(RefusalKind.SIZES, "All sizes are to be dynamic: mark_layout_dynamic(), for every tensor."),
        Remedy(
            RefusalKind.ARGUMENT,
            "Every argument is passed on to cute.compile in its place; only the tensors among them become views.",
        ),
    ),
    "17.6": (
        Remedy(
            SavingFlaw.NO_FILE, "The file is called name + '.o', and it is in the folder before the function returns."
        ),
        Remedy(
            SavingFlaw.AGAIN,
            "First look for the file. If it exists, load it and compile nothing, even if another process saved it.",
        ),
        Remedy(
            SavingFlaw.TORN,
            "Save under another name in that folder, then os.replace: the file has its name when it is whole.",
        ),
        Remedy(
            SavingFlaw.SAME_NAME,
            "Put os.getpid() into the temporary name, or let tempfile make one in the same folder.",
        ),
        Remedy(
            Fail.RAISED(error="FileNotFoundError"),
            "The folder may not be there yet: folder.mkdir(parents=True, exist_ok=True).",
        ),
        Remedy(SavingFlaw.NO_FUNCTION, "A module holds functions by their names: load_module(…)[name]."),
        Remedy(SavingFlaw.COMPILED(times=2), "What is compiled is saved and then loaded, or returned: once is enough."),
        Remedy(
            Fail.RAISED(error="DSLRuntimeError"),
            "What was compiled for TVM-FFI is loaded for it: load_module(str(file), enable_tvm_ffi=True).",
        ),
    ),
    "17.7": (
        Remedy(
            Fail.CASE(name="scalars"),
            "Go through the message's members by hand: the first begins at 0; each further one at the end of the one "
            "before, rounded *up* to its own alignment; its end is there plus its size.",
        ),
    ),
    "17.8": (
        Remedy(
            StructFlaw.ALIGNMENT,
            "Align one of the tiles with cute.struct.Align: the struct then has the strictest of its members.",
        ),
        Remedy(
            StructFlaw.OFFSET(align=1024),
            "Both tiles are cute.struct.Align[…, 1024]: nothing says that what lies before them ends there.",
        ),
        Remedy(StructFlaw.NUMBER, "A MemRange counts elements, and of all stages: rows · 64 · stages."),
        Remedy(StructFlaw.TYPE, "An mbarrier has 64 bits, cutlass.Int64; the tiles are cutlass.BFloat16."),
        Remedy(StructFlaw.NO_RANGE, "A barrier for each stage: cute.struct.MemRange[cutlass.Int64, stages]."),
        Remedy(StructFlaw.MISSING, "Four members: full, empty, sA, sB."),
        Remedy(
            Fail.RAISED(error="TypeError"),
            "Annotations that are text, as `from __future__ import annotations` makes them, tell cute.struct nothing.",
        ),
        Remedy(StructFlaw.NO_STRUCT, "The decorator stands above the class, inside of the function."),
    ),
    "17.9": (
        Remedy(
            Fail.LACKS(instruction="lop3"),
            "The compiler's own & and | are not the question: the text of the instruction goes to inline PTX.",
        ),
        Remedy(
            RefusalKind.INLINED,
            "The text is one instruction of PTX, destination first: lop3.b32 $0, $1, $2, $3, the table, a semicolon.",
        ),
        Remedy(
            Difference.WRONG,
            "The table is your expression of a = 0xF0, b = 0xCC and c = 0xAA, and the three registers stand in this "
            "order.",
        ),
    ),
    "17.10": (
        Remedy(
            Fail.LACKS(instruction="redux.sync"),
            "nvvm.redux_sync(value, kind, mask) is the instruction; the sum of the warp comes back to every lane.",
        ),
        Remedy(Hazard.DIVERGENT(lanes="unnamed"), "All 32 lanes take part: a mask of 32 ones, cutlass.Int32(-1)."),
        Remedy(
            Difference.WRONG,
            "The kind is ADD, each lane gives its own number once, and what comes back is the sum already.",
        ),
    ),
    "17.11": (
        Remedy(
            CudaFlaw.COLD,
            "Call launches() once before the capture: the driver loads a kernel at its first launch, and a capture "
            "refuses part of what loading does.",
        ),
        Remedy(
            (CudaFlaw.LEGACY_STREAM, GraphFlaw.OUTSIDE),
            "torch.cuda.graph makes another stream torch's current one. Ask for torch.cuda.current_stream() inside of "
            "the block, not before it, and pass that to launches().",
        ),
        Remedy(
            CudaFlaw.NO_STREAM,
            "A compiled function takes the driver's stream: CUstream(torch.cuda.current_stream().cuda_stream).",
        ),
        Remedy(
            CudaFlaw.SYNCHRONIZES,
            "A capture runs nothing, so there is nothing to wait for and no result to look at before the first replay.",
        ),
        Remedy(
            GraphFlaw.STALE,
            "The graph has the address of its x. Copy into that memory, static_x.copy_(x); a Python name that you bind "
            "to another tensor changes nothing in the graph.",
        ),
        Remedy(
            (GraphFlaw.EXAMPLES, GraphFlaw.CALLERS_MEMORY),
            "Make two buffers first, x.clone() and torch.empty_like(y), and use only these for the first call and in "
            "the capture.",
        ),
        Remedy(GraphFlaw.NOT_CAPTURED, "with torch.cuda.graph(graph): launches(…) captures, and runs nothing."),
        Remedy(
            (GraphFlaw.LAUNCHES_AGAIN, GraphFlaw.CAPTURES_AGAIN),
            "graphed itself captures, once. The function that it returns has two lines of work: copy, replay.",
        ),
        Remedy(GraphFlaw.TOO_MANY, "One torch.cuda.graph block, and in it one call of launches()."),
        Remedy(
            (GraphFlaw.WAITS, GraphFlaw.NOT_WAITED),
            "Copy and replay on torch's current stream: it runs them, and whatever reads y afterwards, in order.",
        ),
        Remedy(GraphFlaw.SHARED, "Make the buffers inside of graphed, so that each graph has its own."),
        Remedy(Fail.GIVES(type="NoneType"), "graphed returns a function, and that function returns the graph's y."),
        Remedy(GraphFlaw.NOT_REPLAYED, "graph.replay(), once in each call."),
    ),
    "17.12": (
        Remedy(
            CacheFlaw.UNBOUNDED,
            "After an insertion the dictionary may be one too large: then its first key goes, popitem(last=False).",
        ),
        Remedy(
            CacheFlaw.ORDER,
            "A call that finds its function uses it, too: move_to_end(key). Otherwise the oldest is evicted.",
        ),
        Remedy(CacheFlaw.COMPILED, "The bound is how many functions are kept: evict when there are more than `most`."),
        Remedy(
            CacheFlaw.FAILURE,
            "Compile first, insert afterwards, evict last: if compile raises, nothing has changed.",
        ),
        Remedy(
            CacheFlaw.HELD,
            "Every list, dictionary or attribute that still has the function keeps its library loaded.",
        ),
        Remedy(
            CacheFlaw.TWICE,
            "Between the look into the dictionary and the insertion another thread can do the same. Hold a lock while "
            "you compile, and look again when you have it.",
        ),
        Remedy(
            CacheFlaw.HIT_WAITS,
            "Two locks: looking into the dictionary takes one that no thread holds while it compiles.",
        ),
        Remedy(CacheFlaw.CALLS_WAIT, "Release the locks, then call: return compiled(*tensors) outside of the blocks."),
        Remedy(CacheFlaw.STUCK, "threading.Lock is not reentrant: a method that holds it must not take it again."),
        Remedy(CacheFlaw.RESULT, "Return what the function of this call's key returns for this call's tensors."),
    ),
    "17.13": (
        Remedy(TargetFlaw.NO_FILE, 'One file for each target: folder / f"{name}.{target}.o".'),
        Remedy(TargetFlaw.TARGET, 'The target is an option of each compilation: f"--gpu-arch {target}".'),
        Remedy(
            TargetFlaw.NO_FUNCTION,
            "export_to_c(file, name): the name is the function's in the module, without the target. TVM-FFI's calling "
            "convention comes with --enable-tvm-ffi.",
        ),
        Remedy(
            Fail.RAISED(error="DSLRuntimeError"),
            "Without --enable-tvm-ffi export_to_c is another function: it writes a C header beside the object file.",
        ),
        Remedy(TargetFlaw.NO_KERNEL, "export_to_c writes host code and kernel together; the PTX alone is not enough."),
    ),
}

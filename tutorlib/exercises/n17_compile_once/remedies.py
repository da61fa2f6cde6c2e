"""Remedies of notebook 17."""

from tutorlib.checking.exercise import Remedy
from tutorlib.dsl.refusals import RefusalKind
from tutorlib.exercises.n17_compile_once.judge.bounded import CacheFlaw
from tutorlib.exercises.n17_compile_once.judge.cross_compiled import TargetFlaw
from tutorlib.exercises.n17_compile_once.judge.for_torch import CallFlaw
from tutorlib.exercises.n17_compile_once.judge.graphs import GraphFlaw
from tutorlib.exercises.n17_compile_once.judge.recorded_cuda import CudaFlaw
from tutorlib.exercises.n17_compile_once.judge.saved_kernels import SavingFlaw
from tutorlib.exercises.n17_compile_once.judge.shared_storage import StructFlaw
from tutorlib.exercises.n17_compile_once.judge.trials import TensorsFlaw
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
HELD = Remedy(
    TensorsFlaw.KEPT,
    "The dictionary has keys and functions. A tensor in a key, in a list or in a closure stays in memory with it.",
)

COMPILE_ONCE_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "17.1": (
        Remedy(
            Fail.CASE(name="nothing kept"),
            "If nothing is kept, every call goes through everything: trace, compile, load, launch. Nothing is divided.",
        ),
        Remedy(
            Fail.CASE(name="kept"),
            "The kept function was made once, so divide its cost by the calls; the launch is in every call.",
        ),
        Remedy(Fail.CASE(name="loaded"), "A saved function is loaded once, and launched in every call."),
    ),
    "17.2": (
        Remedy(
            Fail.CASE(name="static layouts"),
            "A static layout is its shape and its strides, both: (8, 16):(16, 1) and (8, 16):(1, 8) are two types.",
        ),
        Remedy(
            Fail.CASE(name="mark_layout_dynamic"),
            "Sizes and strides leave the type, except for one fact: which mode has stride 1.",
        ),
        Remedy(
            Fail.CASE(name="one dynamic mode"),
            "One size leaves the type. The other sizes stay, and the order of the strides, from which "
            "the strides follow.",
        ),
    ),
    "17.3": (
        Remedy(
            KeyFlaw.TWO_KEYS(differ="the pitch of the rows"),
            "The rule is 16 *bytes*: a stride counts elements, so multiply it by element_size().",
        ),
        Remedy(
            KeyFlaw.TWO_KEYS,
            "Sizes, strides and addresses are dynamic. None of them belongs in the key, nor does anything computed "
            "from them, except whether it is a multiple of 16 bytes.",
        ),
        Remedy(
            OF_ALIGNMENT,
            "A 16-byte load depends on both: the tensor's address, and the strides other than 1, in bytes.",
        ),
        Remedy(
            (
                KeyFlaw.ONE_KEY(differ="the dtype"),
                KeyFlaw.ONE_KEY(differ="the second tensor's dtype"),
                KeyFlaw.ONE_KEY(differ="which tensor has which dtype"),
            ),
            "Make a part for each tensor, in order: a tuple of tuples. float16 and bfloat16 have the same size, but "
            "are different dtypes.",
        ),
        Remedy(
            (KeyFlaw.ONE_KEY(differ="the rank"), KeyFlaw.ONE_KEY(differ="which mode is contiguous")),
            "A dynamic layout leaves two facts: how many modes it has, and which of them has stride 1.",
        ),
        Remedy(
            KeyFlaw.ONE_KEY(differ="the architecture"),
            "The code is for one architecture, so the architecture is part of the key.",
        ),
        Remedy(
            OF_CONSTANTS,
            "Take the constants in order, each with its type: 2 == 2.0 in Python, but they produce different code.",
        ),
    ),
    "17.4": (
        Remedy(
            KeepingFlaw.COMPILED,
            "Keep every function as long as the object exists. Compile only after a lookup: "
            "setdefault(key, compile(…)) compiles first.",
        ),
        Remedy(
            KeepingFlaw.SHARED,
            "All instances share a dictionary in the class body. Make it in __init__.",
        ),
        Remedy(
            KeepingFlaw.KEYS,
            "Any hashable value can be a key, also None, 0 and (). Test `key in self.kept`.",
        ),
        Remedy(KeepingFlaw.RUNS, "Insert the function at a miss. One line after that calls it, hit or miss."),
        Remedy(KeepingFlaw.TENSORS, "Keep the function, not its result: the result belongs to one call's tensors."),
        HELD,
        Remedy(
            Fail.CASE(name="a compilation that fails"),
            "Compile first, then insert. If compile raises, so does the call, and nothing is inserted.",
        ),
    ),
    "17.5": (
        Remedy(
            CallFlaw.WRAPS,
            'The compiled function takes torch\'s own tensors only if options="--enable-tvm-ffi" says so.',
        ),
        Remedy(
            CallFlaw.COMPILES,
            "Call cute.compile once, in for_torch itself, and return a function that is called with the tensors.",
        ),
        Remedy(CallFlaw.COPIES, "Return what cute.compile returns: it takes torch's tensors where they are."),
        Remedy(Fail.GIVES(type="NoneType"), "Return the function that cute.compile returns."),
        Remedy(RefusalKind.LEADING, "Without an argument, mark_layout_dynamic() finds the mode with stride 1 itself."),
        Remedy(RefusalKind.SIZES, "Make all sizes dynamic: call mark_layout_dynamic() for every tensor."),
        Remedy(
            RefusalKind.ARGUMENT,
            "Pass every argument to cute.compile, in its position; only tensors become views.",
        ),
    ),
    "17.6": (
        Remedy(
            SavingFlaw.NO_FILE, "The file is named name + '.o', and must be in the folder before the function returns."
        ),
        Remedy(
            SavingFlaw.AGAIN,
            "First look for the file. If it exists, load it and compile nothing, even if another process saved it.",
        ),
        Remedy(
            SavingFlaw.TORN,
            "Save under another name in that folder, then call os.replace: only a complete file gets the final name.",
        ),
        Remedy(SavingFlaw.ELSEWHERE, "Write it to `folder` as well; the functions of tempfile take dir=folder."),
        Remedy(
            SavingFlaw.LEFT,
            "The file that is renamed is gone from its old name. Remove any other that you make, such as mkstemp's: "
            "each save by another process leaves one.",
        ),
        Remedy(
            SavingFlaw.SAME_NAME,
            "Put os.getpid() into the temporary name, or let tempfile make one in the same folder.",
        ),
        Remedy(
            Fail.RAISED(error="FileNotFoundError"),
            "The folder may not exist yet: folder.mkdir(parents=True, exist_ok=True).",
        ),
        Remedy(SavingFlaw.NO_FUNCTION, "A module holds functions by their names: load_module(…)[name]."),
        Remedy(
            SavingFlaw.COMPILED(times=2), "Compile once, save that function, and load the file or return the function."
        ),
        Remedy(
            Fail.RAISED(error="DSLRuntimeError"),
            "Compiled for TVM-FFI, it must be loaded for TVM-FFI: load_module(str(file), enable_tvm_ffi=True).",
        ),
    ),
    "17.7": (
        Remedy(
            Fail.CASE(name="scalars"),
            "Lay out the message's members by hand: the first begins at 0; each of the others at the end of the one "
            "before, rounded *up* to its own alignment; it ends at its start plus its size.",
        ),
    ),
    "17.8": (
        Remedy(
            StructFlaw.ALIGNMENT,
            "Align a tile with cute.struct.Align: the struct then has the strictest alignment of its members.",
        ),
        Remedy(
            StructFlaw.OFFSET(align=1024),
            "Make both tiles cute.struct.Align[…, 1024]: the member before a tile may end anywhere.",
        ),
        Remedy(StructFlaw.NUMBER, "A MemRange counts the elements of all stages: rows · 64 · stages."),
        Remedy(StructFlaw.TYPE, "An mbarrier has 64 bits, cutlass.Int64; the tiles are cutlass.BFloat16."),
        Remedy(StructFlaw.NO_RANGE, "A barrier for each stage: cute.struct.MemRange[cutlass.Int64, stages]."),
        Remedy(StructFlaw.MISSING, "Four members: full, empty, sA, sB."),
        Remedy(StructFlaw.GAPS, "Only the tiles need cute.struct.Align. Put the two arrays of barriers side by side."),
        Remedy(
            Fail.RAISED(error="TypeError"),
            "`from __future__ import annotations` turns annotations into text, which cute.struct cannot read.",
        ),
        Remedy(StructFlaw.NO_STRUCT, "Put the decorator above the class, inside the function."),
    ),
    "17.9": (
        Remedy(
            Fail.LACKS(instruction="lop3"),
            "The operators & and | leave the choice to the compiler: write the instruction as inline PTX.",
        ),
        Remedy(Fail.TOO_MANY, "One table holds all of the function: 0xE8 needs no second operation on the bits."),
        Remedy(
            RefusalKind.INLINED,
            "The text is one instruction of PTX, destination first: lop3.b32 $0, $1, $2, $3, the table, a semicolon.",
        ),
        Remedy(
            Difference.WRONG,
            "The table is your expression of a = 0xF0, b = 0xCC and c = 0xAA, for registers in this order.",
        ),
    ),
    "17.10": (
        Remedy(
            Fail.LACKS(instruction="redux.sync"),
            "nvvm.redux_sync(value, kind, mask) is the instruction; it returns the warp's sum to every lane.",
        ),
        Remedy(
            Fail.USES(instruction="redux.sync as inline PTX"),
            "Here the native op is asked for: nvvm.redux_sync(value, kind, mask), without llvm.inline_asm.",
        ),
        Remedy(Fail.TOO_MANY, "One redux.sync sums all 32 bits of all 32 lanes."),
        Remedy(Hazard.DIVERGENT(lanes="unnamed"), "All 32 lanes take part: a mask of 32 ones, cutlass.Int32(-1)."),
        Remedy(
            Difference.WRONG,
            "The kind is ADD. Each lane passes its own number once, and the result is the sum already.",
        ),
    ),
    "17.11": (
        Remedy(
            CudaFlaw.COLD,
            "Call launches() once before the capture: the driver loads a kernel at its first launch, and a capture "
            "does not allow everything that loading does.",
        ),
        Remedy(
            (CudaFlaw.LEGACY_STREAM, GraphFlaw.OUTSIDE),
            "torch.cuda.graph makes another stream torch's current one. Call torch.cuda.current_stream() inside "
            "the block, not before it, and pass that stream to launches().",
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
            "Copy and replay on torch's current stream: it runs them, and the kernels that read y later, in order.",
        ),
        Remedy(GraphFlaw.SHARED, "Make the buffers inside graphed, so that each graph has its own."),
        Remedy(Fail.GIVES(type="NoneType"), "graphed returns a function, and that function returns the graph's y."),
        Remedy(GraphFlaw.NOT_REPLAYED, "graph.replay(), once in each call."),
    ),
    "17.12": (
        Remedy(
            CacheFlaw.UNBOUNDED,
            "After an insertion the dictionary may have one entry too many: remove the first one, popitem(last=False).",
        ),
        Remedy(
            CacheFlaw.ORDER,
            "A hit is a use, too: move_to_end(key). Otherwise you evict the oldest, not the least recently used.",
        ),
        Remedy(
            CacheFlaw.COMPILED,
            "The bound counts functions: evict when there are more than `most`.",
        ),
        Remedy(
            CacheFlaw.FAILURE,
            "Compile first, then insert, evict last: if compile raises, nothing has changed.",
        ),
        Remedy(
            CacheFlaw.HELD,
            "Every list, dictionary or attribute that still refers to the function keeps its kernel loaded.",
        ),
        HELD,
        Remedy(
            CacheFlaw.TWICE,
            "Between the lookup and the insertion another thread can look up the same key. Hold a lock while you "
            "compile, and look up the key again once you have it.",
        ),
        Remedy(
            CacheFlaw.HIT_WAITS,
            "Use two locks: the one for lookups must not be held during a compilation.",
        ),
        Remedy(CacheFlaw.CALLS_WAIT, "Release the locks, then call: return compiled(*tensors) outside the blocks."),
        Remedy(
            CacheFlaw.NOT_LOCKED,
            "`with self.looking:` goes around the test and move_to_end, and around the insertion and popitem.",
        ),
        Remedy(CacheFlaw.STUCK, "threading.Lock is not reentrant: a method that holds it must not take it again."),
        Remedy(CacheFlaw.RESULT, "Return the result that the function of this call's key has for this call's tensors."),
    ),
    "17.13": (
        Remedy(TargetFlaw.NO_FILE, 'One file for each target: folder / f"{name}.{target}.o".'),
        Remedy(TargetFlaw.TARGET, 'The target is an option of each compilation: f"--gpu-arch {target}".'),
        Remedy(TargetFlaw.SLOW, "--opt-level is 3 if you leave it out; 0 is for debugging."),
        Remedy(
            TargetFlaw.NO_FUNCTION,
            "export_to_c(file, name): the name is the function's in the module, without the target. TVM-FFI's calling "
            "convention comes with --enable-tvm-ffi.",
        ),
        Remedy(
            Fail.RAISED(error="DSLRuntimeError"),
            "Without --enable-tvm-ffi, export_to_c is another function, which also writes a C header.",
        ),
        Remedy(TargetFlaw.NO_KERNEL, "export_to_c writes host code and kernel together; the PTX alone is not enough."),
    ),
}

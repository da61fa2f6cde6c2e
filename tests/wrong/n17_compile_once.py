"""Wrong answers to notebook 17."""

import os

import cutlass
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from tests.wrong.change import derive, swap
from tests.wrong.pages import right_answers
from tests.wrong.solved import changed
from tests.wrong.table import answer, says

NAMES = {"torch": torch, "cute": cute, "cutlass": cutlass, "from_dlpack": from_dlpack, "os": os}


def wrong(id, name, what, old, new, *words):
    return changed(id, NAMES, name, what, old, new, *words)


# 17.3 -----------------------------------------------------------------------------------------------------------

LEADING = "t.stride().index(1)"
ALIGNED = "all(start % 16 == 0 for start in starts)"
STARTS = "[t.data_ptr(), *(step * t.element_size() for step in steps)]"
CONSTANTS = "tuple((type(c), c) for c in constants)"

# 17.4 -----------------------------------------------------------------------------------------------------------


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


class KeepsTheLast:
    """Keeps one function alone."""

    def __init__(self, compile, key):
        self.compile, self.key, self.last = compile, key, ()

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if self.last[:1] != (key,):
            self.last = key, self.compile(*tensors)
        return self.last[1](*tensors)


class SetsDefault:
    """Compiles for every call: the arguments of setdefault come first."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        return self.kept.setdefault(self.key(*tensors), self.compile(*tensors))(*tensors)


class ByTruth:
    """Takes None for nothing: a key that is false is never kept."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if not key or key not in self.kept:
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)


class KeepsFailures:
    """Marks a key as compiled before it is."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if key not in self.kept:
            self.kept[key] = None
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)


class KeepsResults:
    """Keeps what the function returned, not the function."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if key not in self.kept:
            self.kept[key] = self.compile(*tensors)(*tensors)
        return self.kept[key]


class ThirtyTwo:
    """Forgets the oldest beyond 32."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if key not in self.kept:
            if len(self.kept) == 32:
                del self.kept[next(iter(self.kept))]
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)


class SwallowsErrors:
    """A compilation that fails is passed over in silence."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        key = self.key(*tensors)
        try:
            if key not in self.kept:
                self.kept[key] = self.compile(*tensors)
            return self.kept[key](*tensors)
        except RuntimeError:
            return None


# 17.5 -----------------------------------------------------------------------------------------------------------


def wraps_each_call(host, *arguments):
    """Compiled without TVM-FFI, so each call wraps its tensors."""

    def views(given):
        return [from_dlpack(a).mark_layout_dynamic() if isinstance(a, torch.Tensor) else a for a in given]

    compiled = cute.compile(host, *views(arguments))
    return lambda *given: compiled(*views(given))


def compiles_each_call(host, *arguments):
    """Compiles whenever it is called."""

    def compiled(given):
        views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in given]
        return cute.compile(host, *views, options="--enable-tvm-ffi")

    return lambda *given: compiled(given)(*given)


def returns_nothing(host, *arguments):
    """Forgets to return what it compiled."""
    views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in arguments]
    cute.compile(host, *views, options="--enable-tvm-ffi")


def leads_with_the_last(host, *arguments):
    """Takes every tensor for row-major."""
    views = [
        from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.ndim - 1)
        if isinstance(a, torch.Tensor)
        else a
        for a in arguments
    ]
    return cute.compile(host, *views, options="--enable-tvm-ffi")


# 17.6 -----------------------------------------------------------------------------------------------------------

SAVE = "        compile().export_to_c(str(half), name)\n        os.replace(half, file)"


def keeps_in_memory(folder, name, compile, kept={}):  # noqa: B006
    """A dictionary of this process; what another one saved is not seen."""
    if (folder, name) not in kept:
        folder.mkdir(parents=True, exist_ok=True)
        kept[folder, name] = compile()
        kept[folder, name].export_to_c(str(folder / f"{name}.o"), name)
    return kept[folder, name]


# 17.8 -----------------------------------------------------------------------------------------------------------

A_ALIGNED = "cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * stages], 1024]"
B_ALIGNED = "cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 256 * 64 * stages], 1024]"


def tiles_first(stages):
    """Offsets are right with the tiles first; but nothing aligns the struct itself."""

    @cute.struct
    class SharedStorage:
        sA: cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * stages]
        sB: cute.struct.MemRange[cutlass.BFloat16, 256 * 64 * stages]
        full: cute.struct.MemRange[cutlass.Int64, stages]
        empty: cute.struct.MemRange[cutlass.Int64, stages]

    return SharedStorage


def sizes_of_text(stages):
    """Raises."""
    return cute.struct(type("Storage", (), {"__annotations__": {"full": "Int64"}}))


def a_class(stages):
    """Forgets the decorator."""

    class SharedStorage:
        full: cute.struct.MemRange[cutlass.Int64, stages]

    return SharedStorage


# 17.9 and 17.10 -------------------------------------------------------------------------------------------------

KERNELS = right_answers("17_compile_once")
PTX = '"lop3.b32 $0, $1, $2, $3, 0xE8;"'
INLINE = """\
    return cutlass.Int32(
        llvm.inline_asm(
            T.i32(),
            [v.ir_value(loc=loc, ip=ip) for v in (a, b, c)],
            "lop3.b32 $0, $1, $2, $3, 0xE8;",
            "=r,r,r,r",
            has_side_effects=False,
            loc=loc,
            ip=ip,
        )
    )"""
REDUX = "cutlass.Int32(nvvm.redux_sync(value, nvvm.ReductionKind.ADD, everybody, loc=loc, ip=ip))"


def lop3(name, what, *changes):
    return derive(KERNELS["17.9"], name, what, *changes, within="majority_of")


def redux(name, what, *changes, within="warp_total"):
    return derive(KERNELS["17.10"], name, what, *changes, within=within)


WRONG = {
    "17.1": [
        wrong("17.1", "altogether", "Of all calls together.", "every + once / calls", "every * calls + once", "divide"),
        wrong(
            "17.1",
            "cache_needs_no_trace",
            "Takes the IR for free.",
            "(trace + launch, compile + load)",
            "(launch, trace + compile + load)",
            "traced",
        ),
        wrong(
            "17.1", "loads_for_nothing", "Loading takes no time.", '"loaded": (launch, load)', '"loaded": (launch, 0)'
        ),
        wrong(
            "17.1",
            "loaded_was_traced",
            "Compiles what was loaded.",
            '"loaded": (launch, load)',
            '"loaded": (launch, trace + compile + load)',
            "not even once",
        ),
        wrong(
            "17.1",
            "all_once",
            "Keeps where nothing is kept.",
            "(trace + compile + load + launch, 0)",
            "(launch, trace + compile + load)",
        ),
        wrong(
            "17.1",
            "launches_once",
            "Launches once.",
            '"kept": (launch, trace + compile + load)',
            '"kept": (0, launch + trace + compile + load)',
        ),
        wrong(
            "17.1",
            "every_divided",
            "Divides what happens each time, too.",
            "every + once / calls",
            "(every + once) / calls",
        ),
    ],
    "17.2": [
        answer("each_call", "Counts calls.", lambda calls: len(calls), "not compiled again"),
        wrong(
            "17.2", "equal_numbers", "2, 2.0 and True are one.", "type(factor), factor", "factor", "not the same code"
        ),
        wrong("17.2", "no_dtype", "Forgets the dtype.", "(dtype, align", "(align", "element type"),
        wrong("17.2", "no_alignment", "Forgets the alignment.", "(dtype, align", "(dtype", "alignment"),
        wrong("17.2", "no_factor", "Forgets the constant.", "type(factor), factor", "0", "Constexpr"),
        wrong(
            "17.2",
            "one_mode_is_all",
            "One mode takes all sizes with it.",
            "layout = others,",
            "layout = 0,",
            "one mode",
        ),
        wrong(
            "17.2",
            "no_order",
            "Forgets the order where one mode is dynamic.",
            "layout = others, sorted(range(len(shape)), key=lambda mode: stride[mode]) == [0, 1]",
            "layout = others",
        ),
        wrong("17.2", "no_leading", "A dynamic layout is its rank.", "len(shape), stride.index(1)", "len(shape)"),
        wrong("17.2", "by_shape", "Forgets a static layout's strides.", "layout = shape, stride\n", "layout = shape\n"),
        wrong(
            "17.2",
            "rank_of_all",
            "Takes each dynamic layout for its rank.",
            "layout = others, sorted(range(len(shape)), key=lambda mode: stride[mode]) == [0, 1]",
            "layout = len(shape)",
        ),
    ],
    "17.3": [
        wrong(
            "17.3",
            "with_shape",
            "Compiles for each shape.",
            "return t.dtype,",
            "return t.shape, t.dtype,",
            "one compilation serves both",
        ),
        wrong(
            "17.3",
            "with_strides",
            "Compiles for each pitch.",
            "return t.dtype,",
            "return t.stride(), t.dtype,",
            "one compilation serves both",
        ),
        wrong(
            "17.3",
            "with_address",
            "Compiles for each address.",
            "return t.dtype,",
            "return t.data_ptr(), t.dtype,",
            "one compilation serves both",
        ),
        wrong(
            "17.3",
            "with_identity",
            "Compiles for each tensor.",
            "return t.dtype,",
            "return id(t), t.dtype,",
            "one compilation serves both",
        ),
        wrong(
            "17.3",
            "by_element_size",
            "Takes fp16 and bf16 for one.",
            "return t.dtype,",
            "return t.element_size(),",
            "dtype",
        ),
        wrong("17.3", "no_rank", "Leaves the rank out.", "t.ndim, ", "", "the rank"),
        wrong("17.3", "no_leading", "Rows or columns are one.", "t.ndim, leading", "t.ndim", "contiguous"),
        wrong("17.3", "no_alignment", "Forgets alignment.", f", {ALIGNED}", "", "16 bytes"),
        wrong("17.3", "address_only", "Forgets the pitch.", STARTS, "[t.data_ptr()]", "pitch"),
        wrong(
            "17.3",
            "pitch_only",
            "Forgets the address.",
            STARTS,
            "[step * t.element_size() for step in steps]",
            "address",
        ),
        wrong("17.3", "pitch_in_elements", "Counts the pitch in elements.", "step * t.element_size() for", "step for"),
        wrong(
            "17.3",
            "first_only",
            "Looks at the first tensor alone.",
            "map(tensor_key, tensors)",
            "map(tensor_key, tensors[:1])",
            "second tensor",
        ),
        wrong(
            "17.3",
            "as_a_set",
            "Forgets which tensor is which.",
            "tuple(map(tensor_key, tensors))",
            "frozenset(map(tensor_key, tensors))",
        ),
        wrong(
            "17.3",
            "a_list",
            "Gives a list.",
            "tuple(map(tensor_key, tensors))",
            "list(map(tensor_key, tensors))",
            "key of a dictionary",
        ),
        wrong("17.3", "no_arch", "Forgets the architecture.", "return arch, ", "return ", "architecture"),
        wrong("17.3", "equal_constants", "2 and 2.0 are one.", CONSTANTS, "tuple(constants)", "2 and 2.0"),
        wrong(
            "17.3",
            "constants_as_a_set",
            "Forgets which constant is which.",
            CONSTANTS,
            "frozenset((type(c), c) for c in constants)",
            "which constant",
        ),
        wrong("17.3", "no_constants", "Forgets the constants.", f", {CONSTANTS}", "", "constant"),
    ],
    "17.4": [KeptByAll, KeepsTheLast, SetsDefault, ByTruth, KeepsFailures, KeepsResults, ThirtyTwo, SwallowsErrors],
    "17.5": [
        wraps_each_call,
        compiles_each_call,
        returns_nothing,
        leads_with_the_last,
        wrong("17.5", "static", "Compiles for one size.", ".mark_layout_dynamic(leading_dim=a.stride().index(1))", ""),
        wrong("17.5", "without_the_option", "Leaves the option out.", ', options="--enable-tvm-ffi"', ""),
        wrong(
            "17.5",
            "tensors_only",
            "Leaves out what is no tensor.",
            "        else a\n        for a in arguments\n",
            "        else None\n        for a in arguments\n        if isinstance(a, torch.Tensor)\n",
        ),
        wrong(
            "17.5",
            "one_mode_only",
            "Frees the contiguous mode alone.",
            ".mark_layout_dynamic(leading_dim=a.stride().index(1))",
            ".mark_compact_shape_dynamic(mode=a.stride().index(1), stride_order=a.dim_order())",
        ),
    ],
    "17.6": [
        keeps_in_memory,
        wrong("17.6", "always_compiles", "Never looks.", "if not file.exists():", "if True:", "compiled again"),
        wrong(
            "17.6",
            "straight_to_the_name",
            "Half a file stays.",
            "str(half), name)\n        os.replace(half, file)",
            "str(file), name)",
            "cut short",
        ),
        wrong("17.6", "never_saves", "Saves nothing.", SAVE, "        return compile()", "no double.o"),
        wrong(
            "17.6", "no_folder", "The folder must be there.", "        folder.mkdir(parents=True, exist_ok=True)\n", ""
        ),
        wrong(
            "17.6", "one_file", "One file for all names.", 'file = folder / f"{name}.o"', 'file = folder / "kernel.o"'
        ),
        wrong(
            "17.6",
            "returns_the_module",
            "Gives the module.",
            "enable_tvm_ffi=True)[name]",
            "enable_tvm_ffi=True)",
            "should return the function",
        ),
        wrong("17.6", "without_ffi", "Loads it as a function of another kind.", ", enable_tvm_ffi=True)", ")"),
        wrong(
            "17.6",
            "compiles_twice",
            "Compiles, saves, and compiles again.",
            "        os.replace(half, file)",
            "        os.replace(half, file)\n        return compile()",
        ),
    ],
    "17.7": [
        wrong("17.7", "packed", "No gaps.", "-(-end // align) * align", "end", "begins at a multiple"),
        wrong(
            "17.7",
            "open_ended",
            "The size ends with the last member.",
            "-(-end // strictest) * strictest",
            "end",
            "strictest",
        ),
        wrong(
            "17.7",
            "last_decides",
            "Rounds to the last alignment.",
            "max(align for _, align in members)",
            "members[-1][1]",
            "last",
        ),
        wrong("17.7", "rounds_down", "Rounds down.", "-(-end // align) * align", "end // align * align"),
        wrong(
            "17.7",
            "always_a_gap",
            "A gap where none is needed.",
            "-(-end // align) * align",
            "(end // align + 1) * align",
        ),
        wrong(
            "17.7",
            "strictest_for_all",
            "One alignment for all.",
            "for size, align in members:",
            "for size, align in [(s, max(a for _, a in members)) for s, _ in members]:",
            "own alignment",
        ),
        wrong("17.7", "forgets_the_gap", "Adds sizes, not gaps.", "end = start + size", "end = end + size"),
        wrong("17.7", "a_list", "Gives a list.", "tuple(offsets)", "offsets"),
    ],
    "17.8": [
        tiles_first,
        sizes_of_text,
        a_class,
        wrong("17.8", "unaligned_a", "Does not align A.", A_ALIGNED, A_ALIGNED[18:-7], "sA begins"),
        wrong("17.8", "unaligned_b", "Does not align B; A's size does.", "sA: " + A_ALIGNED, "sA: " + A_ALIGNED[18:-7]),
        wrong(
            "17.8", "aligned_to_128", "Aligns to 128 bytes.", A_ALIGNED, A_ALIGNED.replace("1024", "128"), "sA begins"
        ),
        wrong("17.8", "one_stage", "Tiles of one stage.", "128 * 64 * stages", "128 * 64", "elements"),
        wrong("17.8", "bytes", "Counts bytes.", "256 * 64 * stages", "256 * 64 * stages * 2", "elements"),
        wrong(
            "17.8",
            "short_barriers",
            "Barriers of 32 bits.",
            "full: cute.struct.MemRange[cutlass.Int64",
            "full: cute.struct.MemRange[cutlass.Int32",
            "Int32",
        ),
        wrong(
            "17.8",
            "one_barrier",
            "A single barrier.",
            "empty: cute.struct.MemRange[cutlass.Int64, stages]",
            "empty: cutlass.Int64",
            "MemRange",
        ),
        wrong(
            "17.8",
            "fp16",
            "Of fp16.",
            "sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16",
            "sA: cute.struct.Align[cute.struct.MemRange[cutlass.Float16",
            "Float16",
        ),
        wrong(
            "17.8",
            "no_empty",
            "Has no empty barriers.",
            "        empty: cute.struct.MemRange[cutlass.Int64, stages]\n",
            "",
            "no member empty",
        ),
    ],
    "17.9": [
        lop3("any_of_them", "The table of or.", swap("0xE8", "0xFE")),
        lop3("all_of_them", "The table of and.", swap("0xE8", "0x80")),
        lop3("parity", "The table of xor.", swap("0xE8", "0x96")),
        lop3("upside_down", "The table in the other order.", swap("0xE8", "0x17")),
        lop3("two_of_them", "Passes a twice.", swap("(a, b, c)]", "(a, b, a)]")),
        lop3("in_python", "No lop3.", swap(INLINE, "    return (a & b) | (a & c) | (b & c)")),
        lop3("two_operands", "A register too few.", swap("$2, $3,", "$2, $2,")),
        says("ptxas refuses the PTX: ")(lop3("no_number", "A table that is no number.", swap("0xE8", "E8"))),
        says("an operand too many")(lop3("constraints", "One is missing.", swap('"=r,r,r,r"', '"=r,r,r"'))),
        lop3("not_ptx", "Names no instruction of PTX.", swap("lop3.b32", "lop4.b32")),
    ],
    "17.10": [
        redux("largest", "The largest.", swap("ReductionKind.ADD", "ReductionKind.MAX")),
        redux("bits", "Any bit.", swap("ReductionKind.ADD", "ReductionKind.OR")),
        redux("half_a_warp", "Half of the lanes.", swap("Int32(-1)", "Int32(0xFFFF)")),
        redux("own_value", "The lane's own.", swap(REDUX, "v")),
        redux("twice", "Twice the sum.", swap(REDUX, REDUX + " * 2")),
        redux(
            "by_shuffles",
            "A tree of shuffles.",
            swap(
                "    everybody = cutlass.Int32(-1).ir_value(loc=loc, ip=ip)\n    value = v.ir_value(loc=loc, ip=ip)\n    return "
                + REDUX,
                "    return cute.arch.warp_reduction_sum(v)",
            ),
        ),
        redux(
            "the_dsl_s",
            "The DSL's own function.",
            swap(
                "    everybody = cutlass.Int32(-1).ir_value(loc=loc, ip=ip)\n    value = v.ir_value(loc=loc, ip=ip)\n    return "
                + REDUX,
                "    return cute.arch.warp_redux_sync(v, 'add')",
            ),
        ),
    ],
}

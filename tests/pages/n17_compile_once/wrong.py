"""Wrong answers to notebook 17: costs, keys and structs."""

from functools import partial

import cutlass
from cutlass import cute

from tests.pages.n17_compile_once.compiling_once import wrong
from tests.pages.table import answer, says
from tutorlib.models.compiling import DirectCall, compiled_for

# 17.3 -----------------------------------------------------------------------------------------------------------

LEADING = "t.stride().index(1)"
ALIGNED = "all(start % 16 == 0 for start in starts)"
STARTS = "[t.data_ptr(), *(step * t.element_size() for step in steps)]"
CONSTANTS = "tuple((type(c), c) for c in constants)"


def one_flag_for_all(tensors, constants, arch):
    """Aligned or not, all tensors together."""

    def aligned(t):
        starts = [t.data_ptr(), *(step * t.element_size() for step in t.stride() if step != 1)]
        return all(start % 16 == 0 for start in starts)

    kinds = tuple((t.dtype, t.ndim, t.stride().index(1)) for t in tensors)
    return arch, kinds, all(map(aligned, tensors)), tuple((type(c), c) for c in constants)


# 17.8 -----------------------------------------------------------------------------------------------------------

A_ALIGNED = "cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 128 * 64 * stages], 1024]"
B_ALIGNED = "cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16, 256 * 64 * stages], 1024]"
BARRIERS = """full: cute.struct.MemRange[cutlass.Int64, stages]
        empty: cute.struct.MemRange[cutlass.Int64, stages]"""


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


per_call, compilations, cache_key, struct_layout, storage = (
    partial(wrong, id) for id in ("17.1", "17.2", "17.3", "17.7", "17.8")
)

WRONG = {
    "17.1": [
        per_call("altogether", "Of all calls together.", "every + once / calls", "every * calls + once", "divide"),
        per_call(
            "cache_needs_no_trace",
            "Takes the IR for free.",
            "(trace + launch, compile + load)",
            "(launch, trace + compile + load)",
            "traced",
        ),
        per_call("loads_for_nothing", "Loading takes no time.", '"loaded": (launch, load)', '"loaded": (launch, 0)'),
        per_call(
            "loaded_was_traced",
            "Compiles what was loaded.",
            '"loaded": (launch, load)',
            '"loaded": (launch, trace + compile + load)',
            "not even once",
        ),
        per_call(
            "all_once",
            "Keeps where nothing is kept.",
            "(trace + compile + load + launch, 0)",
            "(launch, trace + compile + load)",
        ),
        per_call(
            "launches_once",
            "Launches once.",
            '"kept": (launch, trace + compile + load)',
            '"kept": (0, launch + trace + compile + load)',
        ),
        per_call(
            "every_divided", "Divides what happens each time, too.", "every + once / calls", "(every + once) / calls"
        ),
        per_call(
            "not_loaded",
            "Loading is forgotten where the code is compiled.",
            "(launch, trace + compile + load)",
            "(launch, trace + compile)",
        ),
        per_call("loads_each_time", "Loads in every call.", '"loaded": (launch, load)', '"loaded": (launch + load, 0)'),
        per_call("whole_microseconds", "Rounds down.", "every + once / calls", "every + once // calls"),
        per_call(
            "first_call_apart",
            "Once is divided among the others.",
            "every + once / calls",
            "every + once / max(1, calls - 1)",
        ),
    ],
    "17.2": [
        answer("each_call", "Counts calls.", lambda calls: len(calls), "not compiled again"),
        compilations(
            "equal_numbers", "2, 2.0 and True are one.", "type(factor), factor", "factor", "not the same code"
        ),
        compilations(
            "hashed_constants", "-1 and -2 have one hash.", "type(factor), factor", "type(factor), hash(factor)"
        ),
        answer(
            "by_the_courses_key",
            "The course's key.",
            lambda calls: len({compiled_for(DirectCall(*call)) for call in calls}),
            "compiled_for",
        ),
        compilations("no_dtype", "Forgets the dtype.", "(dtype, align", "(align", "element type"),
        compilations("no_alignment", "Forgets the alignment.", "(dtype, align", "(dtype", "alignment"),
        compilations("no_factor", "Forgets the constant.", "type(factor), factor", "0", "Constexpr"),
        compilations(
            "one_mode_is_all", "One mode takes all sizes with it.", "layout = others,", "layout = 0,", "one mode"
        ),
        compilations(
            "no_order",
            "Forgets the order where one mode is dynamic.",
            "layout = others, sorted(range(len(shape)), key=lambda mode: stride[mode]) == [0, 1]",
            "layout = others",
        ),
        compilations("no_leading", "A dynamic layout is its rank.", "len(shape), stride.index(1)", "len(shape)"),
        compilations("by_shape", "Forgets a static layout's strides.", "layout = shape, stride\n", "layout = shape\n"),
        compilations(
            "rank_of_all",
            "Takes each dynamic layout for its rank.",
            "layout = others, sorted(range(len(shape)), key=lambda mode: stride[mode]) == [0, 1]",
            "layout = len(shape)",
        ),
    ],
    "17.3": [
        cache_key(
            "with_shape",
            "Compiles for each shape.",
            "return t.dtype,",
            "return t.shape, t.dtype,",
            "one compilation serves both",
        ),
        cache_key(
            "with_strides",
            "Compiles for each pitch.",
            "return t.dtype,",
            "return t.stride(), t.dtype,",
            "one compilation serves both",
        ),
        cache_key(
            "with_address",
            "Compiles for each address.",
            "return t.dtype,",
            "return t.data_ptr(), t.dtype,",
            "one compilation serves both",
        ),
        cache_key(
            "with_identity",
            "Compiles for each tensor.",
            "return t.dtype,",
            "return id(t), t.dtype,",
            "one compilation serves both",
        ),
        cache_key(
            "by_element_size", "Takes fp16 and bf16 for one.", "return t.dtype,", "return t.element_size(),", "dtype"
        ),
        cache_key(
            "hashed",
            "Gives the key's hash, which -1 and -2 share.",
            "return arch, tuple(map(tensor_key, tensors)), tuple((type(c), c) for c in constants)",
            "return hash((arch, tuple(map(tensor_key, tensors)), tuple((type(c), c) for c in constants)))",
            "-1 and -2",
        ),
        says("which tensor is aligned")(one_flag_for_all),
        cache_key(
            "remainders",
            "Tells unaligned tensors apart by how far off they are.",
            ALIGNED,
            "max(start % 16 for start in starts)",
            "one compilation serves both",
        ),
        cache_key(
            "order_of_strides",
            "Keeps the order of all strides, though only the one that is 1 stays in the type.",
            "t.ndim, leading",
            "t.ndim, tuple(sorted(range(t.ndim), key=t.stride().__getitem__))",
            "one compilation serves both",
        ),
        cache_key("no_rank", "Leaves the rank out.", "t.ndim, ", "", "the rank"),
        cache_key("no_leading", "Rows or columns are one.", "t.ndim, leading", "t.ndim", "contiguous"),
        cache_key("no_alignment", "Forgets alignment.", f", {ALIGNED}", "", "16 bytes"),
        cache_key("address_only", "Forgets the pitch.", STARTS, "[t.data_ptr()]", "pitch"),
        cache_key(
            "pitch_only", "Forgets the address.", STARTS, "[step * t.element_size() for step in steps]", "address"
        ),
        cache_key("pitch_in_elements", "Counts the pitch in elements.", "step * t.element_size() for", "step for"),
        cache_key(
            "largest_pitch",
            "Looks at one stride of three.",
            "in steps)]",
            "in sorted(steps)[-1:])]",
            "pitch of each mode",
        ),
        cache_key(
            "smallest_pitch", "Looks at another one.", "in steps)]", "in sorted(steps)[:1])]", "pitch of each mode"
        ),
        cache_key(
            "no_letter", "sm_90 and sm_90a are one.", "return arch, ", 'return arch.rstrip("a"), ', "architecture"
        ),
        cache_key(
            "in_short", "So are sm_100a and sm_103a.", "return arch, ", "return arch[:5], arch[-1], ", "architecture"
        ),
        cache_key(
            "first_only",
            "Looks at the first tensor alone.",
            "map(tensor_key, tensors)",
            "map(tensor_key, tensors[:1])",
            "second tensor",
        ),
        cache_key(
            "as_a_set",
            "Forgets which tensor is which.",
            "tuple(map(tensor_key, tensors))",
            "frozenset(map(tensor_key, tensors))",
        ),
        cache_key(
            "a_list",
            "Gives a list.",
            "tuple(map(tensor_key, tensors))",
            "list(map(tensor_key, tensors))",
            "key of a dictionary",
        ),
        cache_key("no_arch", "Forgets the architecture.", "return arch, ", "return ", "architecture"),
        cache_key("equal_constants", "2 and 2.0 are one.", CONSTANTS, "tuple(constants)", "2 and 2.0"),
        cache_key(
            "constants_as_a_set",
            "Forgets which constant is which.",
            CONSTANTS,
            "frozenset((type(c), c) for c in constants)",
            "which constant",
        ),
        cache_key("no_constants", "Forgets the constants.", f", {CONSTANTS}", "", "constant"),
    ],
    "17.7": [
        struct_layout("packed", "No gaps.", "-(-end // align) * align", "end", "begins at a multiple"),
        struct_layout(
            "open_ended", "The size ends with the last member.", "-(-end // strictest) * strictest", "end", "strictest"
        ),
        struct_layout(
            "last_decides",
            "Rounds to the last alignment.",
            "max(align for _, align in members)",
            "members[-1][1]",
            "last",
        ),
        struct_layout("rounds_down", "Rounds down.", "-(-end // align) * align", "end // align * align"),
        struct_layout(
            "always_a_gap", "A gap where none is needed.", "-(-end // align) * align", "(end // align + 1) * align"
        ),
        struct_layout(
            "strictest_for_all",
            "One alignment for all.",
            "for size, align in members:",
            "for size, align in [(s, max(a for _, a in members)) for s, _ in members]:",
            "own alignment",
        ),
        struct_layout("forgets_the_gap", "Adds sizes, not gaps.", "end = start + size", "end = end + size"),
        struct_layout(
            "one_gap_too_late",
            "Rounds up behind a member, not before the next.",
            "        start = -(-end // align) * align\n        offsets.append(start)\n        end = start + size",
            "        offsets.append(end)\n        end = -(-(end + size) // align) * align",
        ),
        struct_layout(
            "to_16", "The size is a multiple of 16.", "-(-end // strictest) * strictest", "-(-end // 16) * 16"
        ),
        struct_layout(
            "ends",
            "Where members end.",
            "offsets.append(start)\n        end = start + size",
            "end = start + size\n        offsets.append(end)",
        ),
        struct_layout(
            "aligned_to_their_size",
            "A member begins at a multiple of its size.",
            "-(-end // align) * align",
            "-(-end // size) * size",
        ),
        struct_layout(
            "size_first",
            "The order.",
            "return tuple(offsets), -(-end // strictest) * strictest",
            "return -(-end // strictest) * strictest, tuple(offsets)",
        ),
    ],
    "17.8": [
        tiles_first,
        sizes_of_text,
        a_class,
        storage("unaligned_a", "Does not align A.", A_ALIGNED, A_ALIGNED[18:-7], "sA begins"),
        storage("unaligned_b", "Does not align B; A's size does.", "sA: " + A_ALIGNED, "sA: " + A_ALIGNED[18:-7]),
        storage("aligned_to_128", "Aligns to 128 bytes.", A_ALIGNED, A_ALIGNED.replace("1024", "128"), "sA begins"),
        storage("always_four", "Ignores the number.", "    @cute.struct\n", "    stages = 4\n\n    @cute.struct\n"),
        storage("one_stage", "Tiles of one stage.", "128 * 64 * stages", "128 * 64", "elements"),
        storage("bytes", "Counts bytes.", "256 * 64 * stages", "256 * 64 * stages * 2", "elements"),
        storage(
            "short_barriers",
            "Barriers of 32 bits.",
            "full: cute.struct.MemRange[cutlass.Int64",
            "full: cute.struct.MemRange[cutlass.Int32",
            "Int32",
        ),
        storage(
            "one_barrier",
            "A single barrier.",
            "empty: cute.struct.MemRange[cutlass.Int64, stages]",
            "empty: cutlass.Int64",
            "MemRange",
        ),
        storage(
            "fp16",
            "Of fp16.",
            "sA: cute.struct.Align[cute.struct.MemRange[cutlass.BFloat16",
            "sA: cute.struct.Align[cute.struct.MemRange[cutlass.Float16",
            "Float16",
        ),
        storage(
            "barriers_aligned",
            "Aligns the barriers like tiles.",
            BARRIERS,
            BARRIERS.replace("cute.struct.M", "cute.struct.Align[cute.struct.M").replace("stages]", "stages], 1024]"),
            "bytes are gaps",
        ),
        storage(
            "no_empty",
            "Has no empty barriers.",
            "        empty: cute.struct.MemRange[cutlass.Int64, stages]\n",
            "",
            "no member empty",
        ),
    ],
}

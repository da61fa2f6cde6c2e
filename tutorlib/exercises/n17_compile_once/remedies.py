"""Remedies of notebook 17."""

from tutorlib.checking.exercise import Remedy, Words

COMPILE_ONCE_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "17.1": (
        Remedy(
            Words("nothing kept: "),
            "Where nothing is kept, every call pays for everything: trace, compile, load, launch. Nothing is divided.",
        ),
        Remedy(
            Words("\n  kept: "),
            "What is kept was made once, so that is divided by the calls; the launch is in every call.",
        ),
        Remedy(
            Words("loaded: "),
            "What was saved is loaded once, and launched in every call.",
        ),
    ),
    "17.2": (
        Remedy(
            Words("static layouts: "),
            "A static layout is its shape and its strides, both: (8, 16):(16, 1) and (8, 16):(1, 8) are two types.",
        ),
        Remedy(
            Words("mark_layout_dynamic: "),
            "Sizes and strides leave the type, but for one thing: in which mode the stride is 1.",
        ),
        Remedy(
            Words("one dynamic mode: "),
            "One size leaves the type. What stays: the other sizes, and the order of the strides, which say where the "
            "strides come from.",
        ),
    ),
    "17.3": (
        Remedy(
            Words("in the pitch of the rows ("),
            "16 *bytes* are asked for: a stride counts elements, so it takes element_size() as well.",
        ),
        Remedy(
            Words("one compilation serves both"),
            "Dynamic are: sizes, strides, where the tensor lies. None of them belongs into the key, nor does anything "
            "that is made of them, but for whether 16 bytes divide it.",
        ),
        Remedy(
            Words("whether 16 bytes divide"),
            "A load of 16 bytes needs both: the tensor's address, and the strides that are not 1, in bytes.",
        ),
        Remedy(
            (Words("in the dtype"), Words("tensor's dtype"), Words("which tensor has")),
            "A part for each tensor, in their order: a tuple of tuples. float16 and bfloat16 are as long as each "
            "other, and not the same.",
        ),
        Remedy(
            (Words("in the rank"), Words("which mode is contiguous")),
            "Of a dynamic layout two things are left: how many modes it has, and which of them has the stride 1.",
        ),
        Remedy(
            Words("in the architecture"),
            "The code is for one architecture: a part of the key like any other.",
        ),
        Remedy(
            Words("constant"),
            "The constants in their order, each with its type: 2 == 2.0 in Python, and the code is another.",
        ),
    ),
    "17.4": (
        Remedy(
            Words("83 calls"),
            "Every function is kept for as long as the object lives, none is thrown away. It is compiled only after "
            "a look: setdefault(key, compile(…)) compiles first.",
        ),
        Remedy(
            Words("share what they keep"),
            "A dictionary in the class belongs to all its objects. Each makes its own in __init__.",
        ),
        Remedy(
            Words("any key is a key"),
            "`if not self.kept.get(key)` takes 0, None and () for nothing. Ask whether `key in self.kept`.",
        ),
        Remedy(
            Words("should call the kept function"),
            "What is kept is the function. Its result belongs to one call's tensors.",
        ),
        Remedy(
            Words("a compilation that fails: "),
            "compile comes first, the entry afterwards. If it raises, so does the call, and nothing is kept.",
        ),
    ),
    "17.5": (
        Remedy(
            Words("wraps its tensors anew"),
            'The compiled function takes torch\'s own tensors only if options="--enable-tvm-ffi" says so.',
        ),
        Remedy(
            Words("compilations for"),
            "cute.compile belongs into for_torch itself, once; what it returns is called with the tensors.",
        ),
        Remedy(
            Words("it returns None"),
            "Return what cute.compile made.",
        ),
        Remedy(
            Words("Expected strides[leading_dim] == 1"),
            "mark_layout_dynamic() without an argument finds the mode whose stride is 1 by itself.",
        ),
        Remedy(
            Words("Mismatched"),
            "All sizes are to be dynamic: mark_layout_dynamic(), for every tensor.",
        ),
        Remedy(
            Words("argument `y` is missing"),
            "Every argument is passed on to cute.compile in its place; only the tensors among them become views.",
        ),
    ),
    "17.6": (
        Remedy(
            Words("double.o in the folder"),
            "The file is called name + '.o', and it is in the folder before the function returns.",
        ),
        Remedy(
            Words("compiled again"),
            "First look for the file: whoever saved it, it is loaded and nothing is compiled.",
        ),
        Remedy(
            Words("saving was cut short"),
            "Save under another name in that folder, then os.replace: the file has its name when it is whole.",
        ),
        Remedy(
            Words("FileNotFoundError"),
            "The folder may not be there yet: folder.mkdir(parents=True, exist_ok=True).",
        ),
        Remedy(
            Words("it should return the function"),
            "A module holds functions by their names: load_module(…)[name].",
        ),
        Remedy(
            Words("compile was called 2 times"),
            "What is compiled is saved and then loaded, or returned: once is enough.",
        ),
        Remedy(
            Words("DSLRuntimeError"),
            "What was compiled for TVM-FFI is loaded for it: load_module(str(file), enable_tvm_ffi=True).",
        ),
    ),
    "17.7": (
        Remedy(
            Words("gives (["),
            "The offsets are a tuple.",
        ),
        Remedy(
            Words("scalars: "),
            "Go through the message's members by hand: the first begins at 0; each further one at the end of the one "
            "before, rounded *up* to its own alignment; its end is there plus its size.",
        ),
    ),
    "17.8": (
        Remedy(
            Words("the struct's own alignment"),
            "Align one of the tiles with cute.struct.Align: the struct then has the strictest of its members.",
        ),
        Remedy(
            Words("which is no multiple of 1,024"),
            "Both tiles are cute.struct.Align[…, 1024]: nothing says that what lies before them ends there.",
        ),
        Remedy(
            Words("elements, not"),
            "A MemRange counts elements, and of all stages: rows · 64 · stages.",
        ),
        Remedy(
            Words("has elements of"),
            "An mbarrier has 64 bits, cutlass.Int64; the tiles are cutlass.BFloat16.",
        ),
        Remedy(
            Words("should be a cute.struct.MemRange"),
            "A barrier for each stage: cute.struct.MemRange[cutlass.Int64, stages].",
        ),
        Remedy(
            Words("there is no member"),
            "Four members: full, empty, sA, sB.",
        ),
        Remedy(
            Words("raised TypeError"),
            "Annotations that are text, as `from __future__ import annotations` makes them, tell cute.struct nothing.",
        ),
        Remedy(
            Words("decorated with @cute.struct"),
            "The decorator stands above the class, inside of the function.",
        ),
    ),
    "17.9": (
        Remedy(
            Words("without lop3"),
            "The compiler's own & and | are not the question: the text of the instruction goes to inline PTX.",
        ),
        Remedy(
            Words("PTX assembly failed"),
            "The text is one instruction of PTX, destination first: lop3.b32 $0, $1, $2, $3, the table, a semicolon.",
        ),
        Remedy(
            Words("and should be"),
            "The table is your expression of a = 0xF0, b = 0xCC and c = 0xAA, and the three registers stand in this "
            "order.",
        ),
    ),
    "17.10": (
        Remedy(
            Words("without redux.sync"),
            "nvvm.redux_sync(value, kind, mask) is the instruction; the sum of the warp comes back to every lane.",
        ),
        Remedy(
            Words("a mask that does not name the lane"),
            "All 32 lanes take part: a mask of 32 ones, cutlass.Int32(-1).",
        ),
        Remedy(
            Words("and should be"),
            "The kind is ADD, each lane gives its own number once, and what comes back is the sum already.",
        ),
    ),
}

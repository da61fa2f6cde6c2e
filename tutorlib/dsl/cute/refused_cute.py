"""Advice for kernels that the CuTe DSL refuses, and for inlined PTX that ptxas refuses."""

import re

from tutorlib.dsl.refusal import Refusal, RefusalKind, nearest_keyword, nearest_name


def keep_its_type(found: re.Match[str]) -> str:
    name, before, after = found.groups()
    if "list" in before:
        return (
            f"`{name}` is a Python list, which a run-time loop cannot extend. Unroll the loop with "
            "cutlass.range_constexpr, or keep the values in cute.make_rmem_tensor."
        )
    begin = f"`{name}` is {before} before and {after} after. Begin with the type that it keeps: `cutlass.{after}(…)`"
    return begin + (", or is `//` meant where `/` stands?" if (before, after) == ("Int32", "Float32") else ".")


def in_bytes(found: re.Match[str]) -> str:
    known, needed = (int(bits) // 8 for bits in found.groups())
    return (
        f"An access of {needed} bytes needs an address that is a multiple of {needed}, and here the compiler can be "
        f"sure of {known}. Do a thread's values fill one access, and is it at most 16 bytes? Memory of your own takes "
        "byte_alignment=."
    )


CUTE = (
    Refusal(
        r"(range_constexpr|dynamic range) should be (always )?preprocessed",
        "cutlass.range and cutlass.range_constexpr need a function with @cute.jit or @cute.kernel. Decorate this one, "
        "or loop with Python's range, which unrolls.",
    ),
    # tensors
    Refusal(
        r"unsupported operand type\(s\) for .*_Tensor",
        "A cute.Tensor is a pointer and a layout and does not compute. Go through its elements, "
        "`for i in range(cute.size(x))`, or compute with the value that `x.load()` gives.",
    ),
    Refusal(
        r"'_Tensor' has no len\(\)", "`cute.size(x)` is a tensor's number of elements, `x.shape[0]` its first size."
    ),
    Refusal(
        r"not supported between instances of '\w+' and 'tuple'",
        "A shape is a tuple. Compare with `cute.size(x)` or with one size, `x.shape[0]`; "
        "`cute.elem_less(coordinate, shape)` compares mode by mode.",
    ),
    Refusal(
        r"expects (coordinate to be|`coord` and shape of view are) weakly congruent",
        "The index does not fit the tensor's modes: it takes one number for each, `a[row, column]`. If it comes from "
        "`cute.arch.thread_idx()`, that is a tuple of three: `thread, _, _ = cute.arch.thread_idx()`.",
    ),
    Refusal(
        r"mode \[(\d+)\] has invalid values for input type",
        r"The tensor has no mode \1: modes are counted from 0, and `x.shape` has one entry for each.",
    ),
    Refusal(
        r"whose leaves are integers or None, but got slice",
        "A tensor takes no Python slice. `cute.local_tile(x, (4,), (i,))` is its i-th piece of four; `x[None, 3]` "
        "keeps a whole mode.",
    ),
    Refusal(
        r"whose leaves are integers or None, but got tensor",
        "One coordinate is wanted here, and this is a tensor of them: give it all of its indices.",
    ),
    Refusal(
        r"whose leaves are integers or None, but got \?",
        "An index is a whole number, and this one is not: `/` gives a fraction where `//` is meant, and what a tensor "
        "in memory holds is no coordinate.",
    ),
    Refusal(
        r"Expected (Tile|Shape|Coord), whose leaves .*, but got \[",
        "Shapes, tiles and coordinates are tuples, (4, 4), and no lists.",
    ),
    Refusal(
        r"expects rank\(tiler\) <= rank\(input\)",
        "The tile has more modes than the tensor: a size for each mode of the tensor, and no more.",
        RefusalKind.TILE_MODES,
    ),
    Refusal(
        r"local_tile\(\) missing 1 required positional argument: 'coord'",
        "local_tile takes three: the tensor, the tile's shape, and which tile, `cute.local_tile(x, (4,), (i,))`.",
    ),
    Refusal(
        r"`(src|dst)` must be a Tensor",
        "cute.copy goes from a tensor to a tensor. A number is stored by `x[i] = …`, or by `x.fill(…)` in registers.",
    ),
    Refusal(
        r"must be Tensor, not _Tensor|unsupported data type: <class 'torch",
        "torch computes with its own tensors, and not inside a jitted function: there, write the loop, or use cute.",
    ),
    Refusal(r"unsupported data type: .*_Tensor", "A whole tensor does not fit into one element: is an index missing?"),
    Refusal(
        r"dynamic layout (doesn't support load|is not supported)",
        "Registers and load() need a shape that the compiler knows: cut a piece of fixed size with cute.local_tile.",
    ),
    Refusal(
        r"expected a coordinate of rank (\d+) but got",
        r"Tiles are counted in \1 directions here: local_tile takes a coordinate of \1 numbers, (down, across).",
    ),
    Refusal(
        r"unsupported data type: <class 'NoneType'>",
        "What is stored here is None, which a launch and a function without `return` give. A kernel hands its results "
        "back in its tensors.",
    ),
    # types
    Refusal(
        r"issubclass\(\) arg 1 must be a class",
        "This argument must be a dtype of cutlass, such as cutlass.Float32: no string, none "
        "of torch. Are the arguments in order?",
    ),
    Refusal(
        r"value_ty must be a type of Numeric",
        "The dtype comes first, the layout second: `allocate_tensor(cutlass.Float32, layout)`.",
    ),
    Refusal(
        r"unable to convert \w+ to torch\.(\w+)",
        "In a kernel a dtype is one of cutlass, such as `.to(cutlass.Float32)`, and none of torch.",
    ),
    Refusal(
        r"object has no attribute 'to_llvm_ptr'",
        "A pointer is wanted here, and this is a number: `pointer + i` is the address of element i, `pointer[i]` its "
        "value.",
    ),
    Refusal(
        r"\(.*\) to integer conversion is not supported", "One number is wanted here, and this is a tuple of several."
    ),
    Refusal(
        r"'((?:B?Float|U?Int)\d+|Boolean)' object has no attribute '(\w+)'",
        r"A number of the kernel has no `\2`: it is a number already, and `.to(cutlass.Float32)` converts it.",
    ),
    Refusal(
        r"loop of ufunc does not support argument \d of type \w+ which has no callable (\w+) method",
        "NumPy computes at compile time, and this number is known only at run time: cute.math has such functions.",
    ),
    Refusal(r"`(\w+)` has type `(.*?)` on one path and `(.*?)` on another", keep_its_type),
    Refusal(
        r"two branches of this conditional expression",
        "Both sides need one type: a float beside a float, `x[i] if … else 0.0`, or a cast, `cutlass.Float32(0)`.",
    ),
    Refusal(
        r"x and y must have the same dtype, but got (\w+) and (\w+)",
        r"cute.where chooses between values of one type, and these are \1 and \2: `cute.full_like(v, 0)` is like v.",
    ),
    Refusal(
        r"Type mismatch, store (\w+).* element type (\w+)",
        r"Storing does not convert: say `.to(cutlass.\2)` to the value, which is \1.",
    ),
    Refusal(
        r"lhs and rhs must have the same shape, but got (\(.*\)) and (\(.*\))",
        r"The tensor has the shape \1 and the value \2. `store` needs equal ones: a tensor made in the value's shape, "
        "or a piece of a larger one, as cute.local_tile gives it.",
    ),
    Refusal(
        r"unsupported iterator type, got .*Tensor",
        "cute.make_tensor takes a pointer, and a tensor's is `x.iterator`.",
    ),
    Refusal(
        r"Unsupported DSL type: vector<",
        "Several elements at once are no single condition: `if`, `and`, max and min want one. "
        "`cute.where(v > 0, this, that)` chooses for each element.",
    ),
    Refusal(
        r"Vector is immutable",
        "What load() gives is a value, and its elements cannot be assigned to. Compute with all of them, or keep them "
        "in cute.make_rmem_tensor.",
    ),
    Refusal(
        r"Expected TensorSSA, but got",
        "store() takes a value with as many elements as the tensor: what load(), cute.where or cute.full_like(v, 0.0) "
        "gives.",
    ),
    Refusal(r"cannot broadcast", "The two values have shapes that do not fit each other."),
    Refusal(
        r"Launch (grid|block) dimension at position \d+ must be an integer",
        r"A \1 is counted in whole numbers, and `/` gives a fraction: `n // size`, or `cute.ceil_div(n, size)`.",
    ),
    Refusal(r"Loop `\w+` must be an integer type", "A loop counts in whole numbers, and `/` gives a fraction: `//`."),
    # two times
    Refusal(
        r"`range_constexpr\(\)` requires",
        "range_constexpr unrolls at compile time, and this number is known only at run time: use `range`.",
    ),
    Refusal(
        r"`const_expr\(\)` requires",
        "const_expr decides at compile time, and this is known only at run time: use a plain `if`.",
    ),
    Refusal(
        r"boolean is required \(e.g. in plain Python control flow\)",
        "This function is plain Python, which needs the condition at compile time; it is known only at run time. Put "
        "@cute.jit above it, if it is yours; what NumPy and math do, cute.math does here.",
    ),
    Refusal(
        r"as a list index or for loop range in plain Python",
        "Plain Python needs this number at compile time; it is known only at run time. Loop over a Python tuple or "
        "list with cutlass.range_constexpr, or keep its values in cute.make_rmem_tensor. A helper with loops takes "
        "@cute.jit; math.exp is cute.math.exp; int() can go.",
    ),
    Refusal(
        r"`assert` requires",
        "An assert is evaluated at compile time. A condition that is known only at run time needs an `if`.",
    ),
    Refusal(
        r"Early exit \((\w+)\)",
        r"A run-time branch or loop cannot be left by `\1`: put the rest of the work under a condition instead.",
    ),
    Refusal(
        r"name '(\w+)' is not defined",
        r"`\1` has no value here: is it misspelled, or assigned only inside a run-time branch or loop? Then assign it "
        "before.",
    ),
    Refusal(r"for divmod\(\)", "divmod wants numbers that are known while compiling: write `a // b` and `a % b`."),
    Refusal(r"std::bad_cast", "This instruction has a number in its own code, so the compiler must know it."),
    Refusal(
        r"ZeroDivisionError",
        "A number that is known while compiling is 0 here. Does it come from `//`, where `cute.ceil_div` counts the "
        "partial last tile too?",
    ),
    # kernels and launches
    Refusal(
        r"Kernel `(\w+)` was called but never launched",
        r"`\1` was called but never launched: `\1(…).launch(grid=(…, 1, 1), block=(…, 1, 1))`.",
    ),
    Refusal(
        r"'function' object is not subscriptable",
        "A function takes parentheses, and a kernel is launched by `name(…).launch(grid=…, block=…)`.",
    ),
    Refusal(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", nearest_keyword),
    Refusal(r"arguments do not match the function signature", "The call has other arguments than the function takes."),
    Refusal(r"must be decorated with @cute.jit", "A host function needs @cute.jit above it."),
    Refusal(r"module '(cutlass[\w.]*)' has no attribute '(\w+)'", nearest_name),
    Refusal(r"does not support the context manager", "It is a call: `with cute.arch.elect_one():`, with parentheses."),
    Refusal(
        r"make_composed_layout\(\) missing", "It takes three: `cute.make_composed_layout(swizzle, offset, layout)`."
    ),
    # copies and MMAs
    Refusal(
        r"cannot vectorize copy to (\d+) elements",
        r"The \1 elements of one access must be contiguous in memory. Do the values run along the contiguous mode, "
        "and is it one thread's part (partition_S, partition_D) that is copied?",
    ),
    Refusal(
        r"expects the memory pointed to by atom tv layout exists in the data layout",
        "make_tmem_copy's tensor must hold whole copies of its atom: 128 lanes, and the columns of Repetition or a "
        "multiple of them.",
    ),
    Refusal(
        r"source and destination tensors to have the same rank",
        "Both sides of a copy are cut alike: registers come from cute.make_fragment_like(the other side).",
        RefusalKind.RANKS,
    ),
    Refusal(
        r"'cute.gemm' op expects rank \d+ for ([ABCD]), but got: (\d+)",
        r"cute.gemm multiplies a thread's share, (values, atoms of M or N, …), and its \1 has \2 modes. Make the "
        r"registers from a partition: partition_A, _B or _C of the slice, then make_fragment_A, _B or _C.",
    ),
    Refusal(
        r"expects pred to have compatible shape",
        "pred has one Boolean for each access: (1, M, N) where the partition is (V, M, N).",
    ),
    Refusal(
        r"dst expects shared based memref",
        "cp.async writes to shared memory alone: its destination is partition_D of a tile there.",
    ),
    Refusal(
        r"src expects global based memref",
        "cp.async reads global memory alone; out of shared memory leads a plain copy.",
    ),
    Refusal(
        r"src and dst need be CoordTensorType and CuteMemRefType",
        "A TMA load goes from the matrix to shared memory: the matrix's part comes first, then the tile's.",
    ),
    Refusal(
        r"expects smem and gmem have the same size in the first rank",
        "The first mode of both sides must be one box of the same size: `cute.group_modes(x, 0, 2)` groups rows and K, "
        "and leaves stages or K tiles as the second mode.",
    ),
    Refusal(
        r"shape equivalence between the SMEM layout and the CTA V-map",
        "make_tiled_tma_atom's layout and box are of one copy and have one shape, (rows, columns): the layout of one "
        "stage of A goes with (bM, bK).",
    ),
    Refusal(
        r'Operand 2 of operation "cute_nvgpu.atom.tma_partition" must be a Value',
        "tma_partition's third argument is the layout of the blocks that share a load: `cute.make_layout(1)` for one.",
    ),
    Refusal(
        r"invalid input types, got '!cute_nvgpu\.atom\.\w*tma",
        "tma_partition takes shared memory's tensor first, then the matrix's.",
    ),
    Refusal(r"src needs be shared based memref", "ldmatrix reads shared memory and writes registers."),
    Refusal(r"'cp_size' only supports", "cp.async moves 4, 8 or 16 bytes: num_bits_per_copy is 32, 64 or 128."),
    Refusal(
        r"ptr alignment .* does not meet requirement .*atom\.ldsm<",
        "ldmatrix reads rows of 16 contiguous bytes. Its atom has transpose=False where K is contiguous in shared "
        "memory, transpose=True where M or N is.",
        RefusalKind.MAJOR,
    ),
    Refusal(r"ptr alignment \((\d+) bits\) does not meet requirement \((\d+) bits\)", in_bytes),
    Refusal(
        r"'cute.elem_less' op expects inputs that are congruent",
        "elem_less compares mode by mode: a coordinate of two numbers with a shape of two.",
    ),
    Refusal(
        r"setmaxnreg\.(dec|inc) has register count \((\d+)\) which is (larger|smaller)",
        r"setmaxnreg.\1 with \2 registers: the warpgroup that returns registers keeps the smaller number, and the one "
        "that takes some gets the larger. Are the two exchanged?",
    ),
    Refusal(
        r"\(C7602\) Insufficient registers \((\d+)\)",
        r"A thread of so large a block has at most \1 registers, too few for its accumulators: launch as many "
        "warpgroups as the tile has, and no more.",
    ),
    Refusal(
        r"expects A's M == D'M",
        "The fragments do not fit each other: cute.gemm(tiled_mma, D, A, B, C), with A (…, M, K) and B (…, N, K).",
    ),
)

CLEAR = (  # CuTe's own words say what to do
    Refusal(r"^.*retile of a tensor with .*$", r"\g<0>", RefusalKind.RETILE),
    Refusal(r"^.*only supports equal source and destination element type.*$", r"\g<0>", RefusalKind.WIDTHS),
    Refusal(r"^.*Expected strides\[leading_dim\] == 1.*$", r"\g<0>", RefusalKind.LEADING),
    Refusal(r"^.*Mismatched \w+\.(shape|strides)\[.*$", r"\g<0>", RefusalKind.SIZES),
    Refusal(r"^.*Required argument `\w+` is missing.*$", r"\g<0>", RefusalKind.ARGUMENT),
)

INLINED = (
    Refusal(
        r"uses single CTA\(\.cta_group::1\) and CTA pair granularity\(\.cta_group::2\)",
        "Some tcgen05 instructions of the kernel are for a block and some for a pair; all need one cta_group. In a "
        "pair, the TiledMma and the commits have CtaGroup.TWO, and alloc_tmem, relinquish_tmem_alloc_permit and "
        "dealloc_tmem is_two_cta=True.",
        RefusalKind.CTA_GROUP,
    ),
    Refusal(
        r"Parsing error near '([^']+)'",
        r"ptxas cannot parse the PTX near `\1`. Does each instruction of the inlined text end with a semicolon?",
        RefusalKind.INLINED,
    ),
    Refusal(
        r"error\s+: ((?:(?!error\s+:).)+) ptxas fatal",
        r"ptxas refuses the PTX: \1. Is it in the inlined text, or in its constraints?",
        RefusalKind.INLINED,
    ),
    Refusal(r"invalid operand in inline asm: '([^']+)'", r"`\1` names an operand too many: \"=r,r\" are $0 and $1."),
)

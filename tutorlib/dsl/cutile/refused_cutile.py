"""Advice for kernels that cuTile refuses."""

from tutorlib.dsl.refusal import Refusal, nearest_keyword, nearest_name

CUTILE = (
    Refusal(
        r"bid\(\): missing a required argument", "ct.bid takes a direction: ct.bid(0) counts along the grid's first."
    ),
    Refusal(
        r"^(\w+)\(\) is not supported in device code",
        r"`\1` is no function of a tile kernel: it computes with what cuda.tile has, ct.exp, ct.maximum, ct.where, …",
    ),
    Refusal(r"Tile kernels cannot return values", "A kernel returns nothing: ct.store puts its result into an array."),
    Refusal(
        r"load\(\): missing a required argument: '(index|shape)'",
        "ct.load takes an array, the index of a tile, and the tile's shape: ct.load(x, (i, j), (16, 16)).",
    ),
    Refusal(
        r"store\(\): missing a required argument",
        "ct.store takes an array, the index of a tile, and the tile: ct.store(y, (i, j), tile).",
    ),
    Refusal(
        r"Invalid argument #1 of (load|store)\(\): Expected an array",
        r"The array comes first: ct.load(array, index, shape), ct.store(array, index, tile). This is no array.",
    ),
    Refusal(
        r"No such attribute '(\w+)' for object of type Tile",
        r"A tile has no `\1`: functions stand in ct, ct.sum(tile, 0), ct.exp(tile), ct.maximum(tile, 0).",
    ),
    Refusal(
        r"Directly indexing a tile is not supported",
        "A tile is not cut by an index: ct.load what you want in a tile of its own, or ct.extract it.",
    ),
    Refusal(
        r"Tiles are immutable",
        "A tile does not change. ct.where(condition, one, other) makes a new one, element by element.",
    ),
    Refusal(
        r"Expected a scalar value, but given value has type Tile\[",
        "One number is wanted here, and this is a whole tile. ct.where chooses for each element; ct.sum and ct.max "
        "make one of many.",
    ),
    Refusal(
        r"zeros\(\): missing a required argument: 'dtype'",
        "ct.zeros takes a shape and a dtype: ct.zeros((16, 16), ct.float32).",
    ),
    Refusal(
        r"mma\(\): missing a required argument: 'acc'",
        "ct.mma takes three tiles and adds to the third: acc = ct.mma(a, b, acc). ct.matmul(a, b) takes two.",
    ),
    Refusal(
        r"Expected a tuple of signed integers or a single signed integer scalar",
        "An index counts tiles, in whole numbers: `//`, where `/` gives a fraction.",
    ),
    Refusal(
        r"Expected PaddingMode", "A padding mode is one of ct.PaddingMode, such as ct.PaddingMode.ZERO, and no string."
    ),
    Refusal(r"^(\w+)\(\): got an unexpected keyword argument '(\w+)'", nearest_keyword),
    Refusal(
        r"Index size (\d+) does not match the array rank (\d+)",
        r"A tile is found by one index for each mode of its array: \2, and here are \1.",
    ),
    Refusal(
        r"Expected shape length to be (\d+), got (\d+)",
        r"A tile has as many modes as its array: \1, and this shape has \2.",
    ),
    Refusal(
        r"shape (\(.*?\)) is not a power of two",
        r"Every side of a tile is a power of two, and in \1 one is not: take the next, and pad the edge tiles.",
    ),
    Refusal(
        r"got tensor_view of rank (\d+) and tiles of rank (\d+)",
        r"The array has \1 modes and the tile \2: reshape the tile, or keep a summed mode with keepdims=True.",
    ),
    Refusal(
        r"Stored tile is incompatible with array's dtype",
        "ct.store does not round: the tile takes the array's dtype first, tile.astype(y.dtype).",
    ),
    Refusal(
        r"Expected a constant integer tuple",
        "A tile's shape is known while compiling: numbers, or parameters marked ct.Constant[int].",
    ),
    Refusal(
        r"Incompatible shapes for matrix mul on tiles: (\(.*?\)), (\(.*?\))",
        r"\1 · \2: the first tile's last side and the second one's first must agree; ct.transpose turns a tile.",
    ),
    Refusal(r"Expect acc shape to be (\(.*?\)), got", r"The accumulator needs its own tile: ct.zeros(\1, ct.float32)."),
    Refusal(
        r"Shapes are not broadcastable: (\(.*?\)), (\(.*?\))",
        r"\1 and \2: aligned at the right, two sizes must be equal, or one of them 1.",
    ),
    Refusal(
        r"Type of `(\w+)` depends on path taken: .*vs\. (.*?) \(",
        r"`\1` changes its type on the way. Before the loop, give it the shape and the dtype that it keeps: ct.zeros.",
    ),
    Refusal(
        r"potentially undefined variable `(\w+)`",
        r"`\1` gets its value in one branch alone: give it one before.",
    ),
    Refusal(r"Undefined variable (\w+) used", r"`\1` has no value here: is it misspelled?"),
    Refusal(r"Module '(cuda\.tile)' has no attribute '(\w+)'", nearest_name),
    Refusal(
        r"Arrays are not directly subscriptable",
        "An array lies in memory: ct.load takes a tile out of it, ct.store puts one there.",
    ),
    Refusal(r"Unsupported operand types for .*Array", "An array does not compute; ct.load a tile of it, which does."),
    Refusal(
        r"^Unsupported syntax",
        "A tile kernel knows assignments, calls, if, while and for over a range; no lists, no comprehensions, no try, "
        "no imports. Shapes and indices are tuples.",
    ),
    Refusal(
        r"Expected a dtype constant", "A dtype is ct.float16 or torch.float16; a string is none, nor is Python's float."
    ),
)

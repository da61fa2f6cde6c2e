"""cuTile kernels of two 64×64 arrays that do not compile, each with words of what the course says to do about it."""

import cuda.tile as ct
import torch

REFUSED = []  # (kernel, words)


def refused(words):
    def add(kernel):
        REFUSED.append((kernel, words))
        return kernel

    return add


@refused("one index for each mode of its array: 2, and here are 1")
@ct.kernel
def one_index_of_two(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bid(0),), (16, 16)))


@refused("as many modes as its array: 2, and this shape has 1")
@ct.kernel
def a_row_of_a_matrix(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bid(0), 0), (16,)))


@refused("in (24, 16) one is not")
@ct.kernel
def twenty_four(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (24, 16)))


@refused("keep a summed mode with keepdims=True")
@ct.kernel
def stores_sums_in_a_matrix(x, y):
    ct.store(y, (0, 0), ct.sum(ct.load(x, (0, 0), (16, 16)), 1))


@refused("parameters marked ct.Constant[int]")
@ct.kernel
def as_large_as_the_block_says(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (ct.bid(0), 16)))


@refused("ct.transpose turns a tile")
@ct.kernel
def multiplies_rows_by_rows(x, y):
    a = ct.load(x, (0, 0), (16, 32))
    ct.store(y, (0, 0), ct.matmul(a, a))


@refused("ct.zeros((16, 16), ct.float32)")
@ct.kernel
def adds_up_in_a_number(x, y):
    a = ct.load(x, (0, 0), (16, 16))
    ct.store(y, (0, 0), ct.mma(a, a, 0))


@refused("two sizes must be equal, or one of them 1")
@ct.kernel
def adds_sixteen_to_thirty_two(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16)) + ct.load(x, (0, 0), (32, 16)))


@refused("`total` changes its type on the way")
@ct.kernel
def begins_with_a_number(x, y):
    total = 0
    for j in range(4):
        total = total + ct.load(x, (0, j), (16, 16))
    ct.store(y, (0, 0), total)


@refused("`tile` gets its value in one branch alone")
@ct.kernel
def has_a_tile_in_one_branch(x, y):
    if ct.bid(0) == 0:
        tile = ct.load(x, (0, 0), (16, 16))
    ct.store(y, (0, 0), tile)


@refused("`ct` has no `bidx`. Did you mean `ct.bid`?")
@ct.kernel
def has_another_name(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bidx(0), 0), (16, 16)))


@refused("`tiel` has no value here")
@ct.kernel
def is_misspelled(x, y):
    ct.store(y, (0, 0), tiel)  # noqa: F821


@refused("ct.load takes a tile out of it")
@ct.kernel
def indexes_an_array(x, y):
    y[0, 0] = x[0, 0]


@refused("An array does not compute")
@ct.kernel
def adds_to_an_array(x, y):
    ct.store(y, (0, 0), x + 1)


@refused("no comprehensions, no try")
@ct.kernel
def has_a_comprehension(x, y):
    tiles = [ct.load(x, (0, j), (16, 16)) for j in range(2)]
    ct.store(y, (0, 0), tiles[0])


@refused("A dtype is ct.float16 or torch.float16; a string is none")
@ct.kernel
def names_a_dtype(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16)).astype("float16"))


@refused("ct.bid takes a direction")
@ct.kernel
def any_direction(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bid(), 0), (16, 16)))


@refused("`relu` is no function of a tile kernel")
@ct.kernel
def calls_torch(x, y):
    ct.store(y, (0, 0), torch.relu(ct.load(x, (0, 0), (16, 16))))


@refused("A kernel returns nothing")
@ct.kernel
def returns_a_tile(x, y):
    return ct.load(x, (0, 0), (16, 16))


@refused("the tile's shape: ct.load(x, (i, j), (16, 16))")
@ct.kernel
def shapes_for_shape(x, y):
    ct.store(y, (0, 0), ct.load(x, index=(0, 0), shapes=(16, 16)))


@refused("ct.store takes an array, the index of a tile, and the tile")
@ct.kernel
def stores_nowhere(x, y):
    ct.store(y, ct.load(x, (0, 0), (16, 16)))


@refused("The array comes first")
@ct.kernel
def stores_an_array_in_a_tile(x, y):
    ct.store(ct.load(x, (0, 0), (16, 16)), (0, 0), y)


@refused("A tile has no `sum`: functions stand in ct")
@ct.kernel
def sums_by_a_method(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16)).sum(0))


@refused("A tile is not cut by an index")
@ct.kernel
def half_a_tile(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16))[0:8, :])


@refused("A tile does not change")
@ct.kernel
def assigns_into_a_tile(x, y):
    tile = ct.zeros((16, 16), ct.float32)
    tile[0, 0] = 1.0


@refused("ct.where chooses for each element")
@ct.kernel
def asks_a_tile(x, y):
    tile = ct.load(x, (0, 0), (16, 16))
    if tile > 0:
        ct.store(y, (0, 0), tile)


@refused("ct.zeros takes a shape and a dtype")
@ct.kernel
def zeros_of_nothing(x, y):
    ct.store(y, (0, 0), ct.zeros((16, 16)))


@refused("acc = ct.mma(a, b, acc)")
@ct.kernel
def multiplies_without_sums(x, y):
    tile = ct.load(x, (0, 0), (16, 16))
    ct.store(y, (0, 0), ct.mma(tile, tile))


@refused("An index counts tiles, in whole numbers")
@ct.kernel
def half_an_index(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bid(0) / 2, 0), (16, 16)))


@refused("one of ct.PaddingMode")
@ct.kernel
def names_a_padding(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16), padding_mode="zero"))


@refused("sum() has no keyword `dim`")
@ct.kernel
def dim_for_axis(x, y):
    ct.store(y, (0, 0), ct.sum(ct.load(x, (0, 0), (16, 16)), dim=1, keepdims=True))


@refused("ct.store does not round")
@ct.kernel
def stores_what_is_too_wide(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16)).astype(ct.float64))

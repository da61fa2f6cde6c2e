"""cuTile kernels of two 64×64 arrays that do not compile, of refusals whose own words do not say what to do."""

import cuda.tile as ct
import torch

REFUSED = []


def refused(kernel):
    REFUSED.append(kernel)
    return kernel


@refused
@ct.kernel
def stores_sums_in_a_matrix(x, y):
    ct.store(y, (0, 0), ct.sum(ct.load(x, (0, 0), (16, 16)), 1))


@refused
@ct.kernel
def begins_with_a_number(x, y):
    total = 0
    for j in range(4):
        total = total + ct.load(x, (0, j), (16, 16))
    ct.store(y, (0, 0), total)


@refused
@ct.kernel
def has_another_name(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bidx(0), 0), (16, 16)))


@refused
@ct.kernel
def adds_to_an_array(x, y):
    ct.store(y, (0, 0), x + 1)


@refused
@ct.kernel
def has_a_comprehension(x, y):
    tiles = [ct.load(x, (0, j), (16, 16)) for j in range(2)]
    ct.store(y, (0, 0), tiles[0])


@refused
@ct.kernel
def calls_torch(x, y):
    ct.store(y, (0, 0), torch.relu(ct.load(x, (0, 0), (16, 16))))


@refused
@ct.kernel
def asks_a_tile(x, y):
    tile = ct.load(x, (0, 0), (16, 16))
    if tile > 0:
        ct.store(y, (0, 0), tile)


@refused
@ct.kernel
def half_an_index(x, y):
    ct.store(y, (0, 0), ct.load(x, (ct.bid(0) / 2, 0), (16, 16)))


@refused
@ct.kernel
def stores_what_is_too_wide(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (16, 16)).astype(ct.float64))

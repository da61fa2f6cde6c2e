"""The Hopper GEMM on transposed views, on a Hopper GPU: as right as torch, in every combination and at ragged edges."""

from itertools import product

import pytest
import torch

from tutorlib.kernels.hopper.config import HopperConfig

pytestmark = pytest.mark.gpu("90a")
SHAPES = ((2048, 2048, 2048), (1000, 2056, 1336), (136, 264, 71))
MAJORS = tuple(product(("k", "mn"), repeat=2))
PATHS = {
    "ping-pong, stream-K": {"tile": (128, 192, 64), "schedule": "pingpong", "cluster": (2, 1), "stream_k": True},
    "deferred, 1×2": {"cluster": (1, 2), "defer_stores": True},
    "split-K, transposed": {"tile": (128, 64, 64), "transposed": True, "persistent": False, "split_k": 2},
    "2×4, K tiles of 128": {"tile": (64, 128, 128), "cluster": (2, 4)},
    "narrow patterns": {"tile": (128, 80, 64), "schedule": "plain", "cluster": (2, 2)},
}


def draw(rows, columns, major):
    made = torch.randn(rows, columns, device="cuda") * columns**-0.25
    return made.bfloat16() if major == "k" else made.mT.bfloat16().contiguous().mT


def is_close(c, a, b):
    """One rounding to bf16 of sums of numbers of size 1, which fp32 adds up in another order."""
    torch.testing.assert_close(c.float(), a.float() @ b.float().mT, rtol=2**-8, atol=2**-8)


@pytest.mark.parametrize("majors", MAJORS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_views_are_multiplied_as_they_lie(shape, majors):
    from tutorlib.kernels.hopper.launch import gemm

    (m, n, k), unit = shape, 1 if majors == ("mn", "mn") else 8
    k = -(-k // unit) * unit
    torch.manual_seed(0)
    a, b = draw(m, k, majors[0]), draw(n, k, majors[1])
    is_close(gemm(a, b), a, b)


@pytest.mark.parametrize("majors", [("k", "mn"), ("mn", "mn")], ids=str)
@pytest.mark.parametrize("name", PATHS)
def test_every_path_through_the_kernel(name, majors):
    from tutorlib.kernels.hopper.launch import launcher

    config = HopperConfig(**PATHS[name], majors=majors)
    m, n, k = 776, 1032, 584
    torch.manual_seed(0)
    a, b = (draw(rows, k, major) for rows, major in zip((m, n), config.callers_majors, strict=True))
    c = torch.full((m, n), torch.nan, device="cuda", dtype=torch.bfloat16)
    launcher(config, m, n, k)(a, b, c)
    is_close(c, a, b)

"""QuACK's kernels, against torch."""

import os
import sys
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional
from torch.testing import assert_close

from tests.outside.runs import PYTHON, Case, Source

SOURCE = Source("QuACK", "Dao-AILab/quack", "TUTORLIB_QUACK")
TARGETS = ("sm_80", "sm_90a", "sm_100a")
SINCE_HOPPER = TARGETS[1:]  # its GEMMs
CASES: list[tuple[tuple[str, ...], Callable[[], None]]] = []
BF16 = torch.bfloat16


def kernel(targets: tuple[str, ...] = TARGETS) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(run: Callable[[], None]) -> Callable[[], None]:
        CASES.append((targets, run))
        return run

    return add


def cases() -> Iterator[Case]:
    for targets, test in CASES:
        for target in targets:
            command = (PYTHON, "-m", __name__, test.__name__, target)
            yield Case(SOURCE, f"{test.__name__} for {target}", target, command, (str(SOURCE.checkout),))


def random(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randn(shape, device="cuda").to(dtype)


def close(got: torch.Tensor, want: torch.Tensor, tolerance: float = 2e-2) -> None:
    assert_close(got.cpu().float(), want.cpu().float(), rtol=tolerance, atol=tolerance)


def matrices(m: int = 136, n: int = 144, k: int = 96) -> tuple[torch.Tensor, torch.Tensor]:
    return random(m, k), random(n, k).T


@kernel(SINCE_HOPPER)
def gemm() -> None:
    from quack.gemm_interface import gemm

    a, b = matrices()
    close(gemm(a, b, tuned=False), a.float() @ b.float())


@kernel(SINCE_HOPPER)
def gemm_of_batches() -> None:
    from quack.gemm_interface import gemm

    a, b = random(2, 136, 96), random(2, 144, 96).mT
    close(gemm(a, b, tuned=False), a.float() @ b.float())


@kernel(SINCE_HOPPER)
def gemm_and_addition() -> None:
    from quack.gemm_interface import gemm_add

    (a, b), c = matrices(), random(136, 144)
    close(gemm_add(a, b, c, tuned=False), a.float() @ b.float() + c.float())


@kernel(SINCE_HOPPER)
def gemm_and_relu() -> None:
    from quack.gemm_interface import gemm_act

    a, b = matrices()
    before, after = gemm_act(a, b, activation="relu", tuned=False)
    close(before, a.float() @ b.float())
    close(after, (a.float() @ b.float()).relu())


@kernel()
def rms_norm() -> None:
    from quack.rmsnorm import rmsnorm_fwd

    x, w = random(9, 512), random(512, dtype=torch.float32)
    out = rmsnorm_fwd(x, w, eps=1e-6)
    close(out[0] if isinstance(out, tuple) else out, functional.rms_norm(x.float(), (512,), w, 1e-6))


@kernel()
def rms_norm_and_gradient() -> None:
    from quack.rmsnorm import rmsnorm

    x, w = random(9, 512).requires_grad_(), random(512, dtype=torch.float32).requires_grad_()
    dy = random(9, 512)
    rmsnorm(x, w, eps=1e-6).backward(dy)
    x_, w_ = (t.detach().float().requires_grad_() for t in (x, w))
    functional.rms_norm(x_, (512,), w_, 1e-6).backward(dy.float())
    close(x.grad, x_.grad, 4e-2)
    close(w.grad, w_.grad, 4e-2)


@kernel()
def layer_norm() -> None:
    from quack.rmsnorm import layernorm_fwd

    x, w = random(9, 512), random(512, dtype=torch.float32)
    close(layernorm_fwd(x, w, eps=1e-6), functional.layer_norm(x.float(), (512,), w, eps=1e-6))


@kernel()
def softmax() -> None:
    from quack.softmax import softmax_fwd

    x = random(9, 512)
    close(softmax_fwd(x), x.float().softmax(1), 1e-2)


@kernel()
def softmax_gradient() -> None:
    from quack.softmax import softmax_bwd

    y, dy = random(9, 512).float().softmax(1).to(BF16), random(9, 512)
    want = y.float() * (dy.float() - (dy.float() * y.float()).sum(1, keepdim=True))
    close(softmax_bwd(dy, y), want, 1e-2)


@kernel()
def cross_entropy() -> None:
    from quack.cross_entropy import cross_entropy_fwd

    x, target = random(9, 512), torch.randint(512, (9,), device="cuda")
    out = cross_entropy_fwd(x, target)
    close(out[0] if isinstance(out, tuple) else out, functional.cross_entropy(x.float(), target, reduction="none"))


@kernel()
def top_k() -> None:
    from quack.topk import topk_fwd

    x = random(9, 256, dtype=torch.float32)
    values, indices = topk_fwd(x, 8)[:2]
    want = x.topk(8)
    close(values, want.values, 1e-4)  # its lowest bits are the index
    close(x.gather(1, indices.long()), want.values, 1e-4)


@kernel()
def rotary() -> None:
    from quack.rotary import apply_rotary_emb

    x, angle = random(2, 10, 4, 64), torch.rand(10, 32, device="cuda")
    cos, sin = angle.cos().to(BF16), angle.sin().to(BF16)
    first, second = x.float().chunk(2, -1)
    c, s = (t.float()[None, :, None, :] for t in (cos, sin))
    close(apply_rotary_emb(x, cos, sin), torch.cat([first * c - second * s, first * s + second * c], -1))


if __name__ == "__main__":  # without its cache of compiled kernels
    name, target = sys.argv[1:]
    os.environ.update(QUACK_CACHE_ENABLED="0", CUTE_DSL_ARCH=target, QUACK_ARCH=target.removesuffix("a"))
    torch.manual_seed(0)
    globals()[name]()

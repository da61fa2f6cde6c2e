"""Triton's tutorials: their kernels, on inputs smaller than theirs."""

import ast
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import torch
from torch.testing import assert_close

from tests.outside.runs import PYTHON, Case, Source

SOURCE = Source("Triton's tutorials", "triton-lang/triton", "TUTORLIB_TRITON")
TARGETS = ("sm_80", "sm_90a", "sm_100a")
SINCE_HOPPER = TARGETS[1:]
CASES: list[tuple[str, str, tuple[str, ...], Callable[[Any], None]]] = []


def tutorial(name: str, targets: tuple[str, ...] = TARGETS) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    def add(run: Callable[[Any], None]) -> Callable[[Any], None]:
        CASES.append((name, run.__name__, targets, run))
        return run

    return add


def cases() -> Iterator[Case]:
    for name, test, targets, _ in CASES:
        for target in targets:
            yield Case(SOURCE, f"{name} {test} for {target}", target, (PYTHON, "-m", __name__, name, test))


def definitions(name: str) -> ModuleType:
    """The tutorial as a module without what it computes: imports, functions, classes and plain constants."""
    file = SOURCE.checkout / "python/tutorials" / f"{name}.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if defines(node)]
    module = ModuleType(name.replace("-", "_"))
    module.__file__ = str(file)
    sys.modules[module.__name__] = module  # where Triton looks for a function's globals
    exec(compile(tree, str(file), "exec"), vars(module))
    return module


PLAIN = {"attention", "layer_norm", "device", "target", "kernels", "properties", "configs", "tma_configs"}
PLAIN |= {"current_file", "current_dir"}


def defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        names = {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        return all(name.isupper() or name in PLAIN for name in names)
    if isinstance(node, ast.FunctionDef) and any("perf_report" in ast.unparse(each) for each in node.decorator_list):
        return False
    if isinstance(node, ast.If):
        return not any(word in ast.unparse(node) for word in ("print", "__main__", "cublas", "assert"))
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Try)


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, device="cuda").to(dtype)


def halves(*shape: int) -> torch.Tensor:
    return random(*shape, dtype=torch.float16)


def close(got: torch.Tensor, want: torch.Tensor, tolerance: float) -> None:
    assert_close(got.cpu().float(), want.cpu().float(), rtol=tolerance, atol=tolerance)


@tutorial("01-vector-add")
def add(module: Any) -> None:
    x, y = random(3000), random(3000)
    close(module.add(x, y), x + y, 0)


@tutorial("02-fused-softmax")
def softmax(module: Any) -> None:
    x = random(13, 781)
    close(module.softmax(x), torch.softmax(x, axis=1), 1e-5)


@tutorial("03-matrix-multiplication")
def matmul(module: Any) -> None:
    a, b = halves(200, 88), halves(88, 136)
    close(module.matmul(a, b), a.float() @ b.float(), 1e-2)


@tutorial("03-matrix-multiplication", TARGETS[1:])
def matmul_fp8(module: Any) -> None:
    a, b = (x.to(torch.float8_e5m2) for x in (halves(128, 96), halves(96, 128)))
    close(module.matmul(a, b), a.float() @ b.float(), 0.125)


@tutorial("03-matrix-multiplication")
def matmul_and_leaky_relu(module: Any) -> None:
    a, b = halves(64, 64), halves(64, 64)
    close(module.matmul(a, b, activation="leaky_relu"), torch.nn.functional.leaky_relu(a.float() @ b.float()), 1e-2)


@tutorial("04-low-memory-dropout")
def dropout(module: Any) -> None:
    x = random(1500)
    kept = (torch.rand(1500, device="cuda") > 0.5).to(torch.int32)
    close(module.dropout(x, x_keep=kept, p=0.5), torch.where(kept == 1, x / 0.5, 0), 0)


@tutorial("04-low-memory-dropout")
def seeded_dropout(module: Any) -> None:
    """The same seed keeps the same numbers, about half of them."""
    x = random(1500).abs() + 1
    first, again = module.seeded_dropout(x, p=0.5, seed=123), module.seeded_dropout(x, p=0.5, seed=123)
    close(first, again, 0)
    kept = first.cpu() != 0
    close(first, torch.where(kept, x.cpu() * 2, 0), 0)
    assert 600 < kept.sum() < 900


@tutorial("05-layer-norm")
def layer_norm(module: Any) -> None:
    module.test_layer_norm(16, 500, torch.float16)


@tutorial("06-fused-attention")
def attention(module: Any) -> None:
    forward(module, causal=False)


@tutorial("06-fused-attention")
def causal_attention(module: Any) -> None:
    forward(module, causal=True)


def forward(module: Any, causal: bool) -> None:
    q, k, v = (halves(1, 2, 256, 64) for _ in range(3))
    got = module.attention(q, k, v, causal, 0.5, False)
    scale = {"scale": 0.5, "is_causal": causal}
    close(got, torch.nn.functional.scaled_dot_product_attention(*(x.cpu().float() for x in (q, k, v)), **scale), 2e-2)


@tutorial("06-fused-attention")
def attention_backward(module: Any) -> None:
    module.test_op(1, 1, 128, 64, True, False, "bwd", "triton-fp16")


@tutorial("07-extern-functions")
def asin(module: Any) -> None:
    import triton

    x = torch.rand(1000, device="cuda") * 2 - 1
    y = torch.zeros_like(x)
    module.asin_kernel[(triton.cdiv(1000, 1024),)](x, y, 1000, BLOCK_SIZE=1024)
    close(y, torch.asin(x), 1e-6)


def groups() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    shapes = [(128, 64, 64), (64, 128, 32)]
    return [halves(m, k) for m, _, k in shapes], [halves(k, n) for _, n, k in shapes]


@tutorial("08-grouped-gemm")
def group_gemm(module: Any) -> None:
    a, b = groups()
    for got, x, y in zip(module.group_gemm_fn(a, b), a, b, strict=True):
        close(got, x.float() @ y.float(), 1e-2)


@tutorial("08-grouped-gemm", SINCE_HOPPER)
def group_gemm_by_tma(module: Any) -> None:
    a, b = groups()
    transposed = [x.T.contiguous() for x in b]
    for got, x, y in zip(module.group_gemm_tma_fn(a, transposed), a, b, strict=True):
        close(got, x.float() @ y.float(), 1e-2)


def product(module: Any, name: str, *args: bool) -> None:
    a, b = halves(136, 96), halves(144, 96)
    right = b if args else b.T
    close(getattr(module, name)(a, right, *args), a.float() @ b.T.float(), 1e-2)


@tutorial("09-persistent-matmul")
def one_tile_a_block(module: Any) -> None:
    product(module, "matmul")


@tutorial("09-persistent-matmul")
def persistent(module: Any) -> None:
    product(module, "matmul_persistent")


@tutorial("09-persistent-matmul", SINCE_HOPPER)
def by_tma(module: Any) -> None:
    product(module, "matmul_tma", False)


@tutorial("09-persistent-matmul", SINCE_HOPPER)
def persistent_by_tma(module: Any) -> None:
    product(module, "matmul_tma_persistent", False)


@tutorial("09-persistent-matmul", SINCE_HOPPER)
def persistent_by_descriptors_made_on_the_device(module: Any) -> None:
    product(module, "matmul_descriptor_persistent", False)


def block_scaled(module: Any, kinds: str) -> None:
    """Without cuBLAS, and without an option that Triton 3.8 lacks."""
    kernel = module.block_scaled_matmul_kernel
    run, module.cublas = kernel.run, None
    with mock.patch.object(kernel, "run", lambda *args, clc=None, **options: run(*args, **options)):
        module.validate_block_scaled(256, 256, 256, kinds)


@tutorial("10-block-scaled-matmul", ("sm_100a",))
def mxfp8(module: Any) -> None:
    block_scaled(module, "mxfp8")


@tutorial("10-block-scaled-matmul", ("sm_100a",))
def mxfp4(module: Any) -> None:
    block_scaled(module, "mxfp4")


@tutorial("10-block-scaled-matmul", ("sm_100a",))
def nvfp4(module: Any) -> None:
    block_scaled(module, "nvfp4")


@tutorial("10-block-scaled-matmul", ("sm_100a",))
def mixed(module: Any) -> None:
    block_scaled(module, "mixed")


@tutorial("11-programmatic-dependent-launch", SINCE_HOPPER)
def dependent_launch(module: Any) -> None:
    x, y = random(3000), random(3000)
    close(module.add(x, y), x + y, 0)


if __name__ == "__main__":
    tutorial_name, test_name = sys.argv[1:]
    torch.manual_seed(0)
    globals()[test_name](definitions(tutorial_name))

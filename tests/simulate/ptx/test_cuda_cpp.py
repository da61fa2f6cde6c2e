"""CUDA C++ as tutorials write it (corpus/*.cu), through nvcc: results, and what each loses when a line goes wrong."""

from pathlib import Path

import pytest
import torch

from tutorlib.simulate.ptx import NotSimulated
from tutorlib.simulate.ptx.languages.cuda import simulate_cuda

CORPUS = Path(__file__).parent / "corpus"
BINS = 256


def source(name, *edits):
    """A file of the corpus. edits: (text, what to put there instead)."""
    text = (CORPUS / f"{name}.cu").read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def unwritten(*shape):
    return torch.full(shape, float("nan"))


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def only(report):
    (finding,) = report.findings
    return finding


# reduction: shuffles, and an atomic for each block ------------------------------------------------------------------


def reduce(*edits):
    x, total = random(5000).mul(8).round(), torch.zeros(1)  # integers: their sum is exact in any order
    report = simulate_cuda(source("reduce", *edits), (5,), (128,), {"x": x, "total": total, "n": len(x)})
    return total, x.sum(), report


def test_reduction():
    total, want, report = reduce()
    assert total == want
    assert not report.findings


def test_reduction_without_a_barrier():
    found = only(reduce(("partial[warp] = sum;\n    __syncthreads();", "partial[warp] = sum;"))[2])
    assert found.kind == "race"
    assert "thread 1 of block 0 reads what thread 32 wrote" in found.message
    assert "`partial[warp] = sum;`" in found.message
    assert found.message.endswith("with no barrier between (partial)")
    assert "partial[lane]" in found.place.text


def test_reduction_past_the_end():
    found = only(reduce(("i < n; i +=", "i <= n; i +="))[2])
    assert found.kind == "outside"
    assert "loads x[5000], which lies outside x of shape (5000,)" in found.message
    assert found.place.text == "sum += x[i];"


# transpose: a padded tile -------------------------------------------------------------------------------------------


def transpose(*edits):
    a, out = random(100, 70), unwritten(70, 100)
    arguments = {"out": out, "in": a, "rows": 100, "columns": 70}
    return out, a.T, simulate_cuda(source("transpose", *edits), (3, 4), (32, 8), arguments)


def test_transpose():
    out, want, report = transpose()
    assert torch.equal(out, want)
    assert not report.findings
    taken, needed = report.total("shared")
    assert taken == needed


def test_transpose_without_its_padding_is_right_and_slow():
    out, want, report = transpose(("#define PAD 1", "#define PAD 0"))
    assert torch.equal(out, want)
    (column,) = {a.place.text: a for a in report.accesses if a.space == "shared" and a.wasted}.values()
    assert column.place.text == "out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];"
    assert column.taken == 25 * column.needed  # on one bank are 32, 32, 32 or 4 threads of a warp: of 100 rows


def test_transpose_one_row_too_many():
    found = only(transpose(("y + j < rows", "y + j <= rows"))[2])
    assert found.kind == "outside"
    assert "loads in[100, 0], which lies outside in of shape (100, 70)" in found.message
    assert found.place.text == "tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];"


def test_transpose_without_a_barrier():
    found = only(transpose(("    __syncthreads();\n", ""))[2])
    assert found.kind == "race"
    assert found.place.text == "out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];"


# softmax: one pass for maximum and sum, a tree for the block --------------------------------------------------------


def softmax(*edits, columns=300):
    x, out = random(6, columns) * 5, unwritten(6, columns)
    report = simulate_cuda(source("softmax", *edits), (6,), (128,), {"out": out, "in": x, "columns": columns})
    return out, x.softmax(1), report


@pytest.mark.parametrize("columns", [300, 7])
def test_softmax(columns):
    out, want, report = softmax(columns=columns)
    torch.testing.assert_close(out, want, rtol=1e-5, atol=0)
    assert not report.findings


def test_softmax_with_a_barrier_that_half_of_the_threads_skip():
    after, within = "        }\n        __syncthreads();\n", "            __syncthreads();\n        }\n"
    report = softmax((after, within))[2]
    (found,) = (f for f in report.findings if f.kind == "barrier")
    assert "threads 64 to 127 never reach this barrier" in found.message
    assert found.place.text == "__syncthreads();"
    assert found.place.line == 1 + source("softmax", (after, within)).splitlines().index("            __syncthreads();")


# stencil: cp.async through <cuda_pipeline.h> ------------------------------------------------------------------------


def stencil(*edits):
    x, out = random(1000), unwritten(1000)
    report = simulate_cuda(source("stencil", *edits), (3,), (128,), {"out": out, "in": x, "n": len(x)})
    return out, torch.nn.functional.avg_pool1d(x[None], 7, stride=1, padding=3)[0], report


def test_stencil():
    out, want, report = stencil()
    torch.testing.assert_close(out, want)
    assert not report.findings


def test_stencil_that_waits_for_too_little():
    report = stencil(("__pipeline_wait_prior(1)", "__pipeline_wait_prior(2)"))[2]
    assert {f.kind for f in report.findings} == {"unwaited"}
    assert report.findings[0].place.text == "sum += stages[stage][threadIdx.x + i];"
    assert "issued at line 13, `__pipeline_memcpy_async(" in report.findings[0].message  # not NVIDIA's header


def test_stencil_that_overwrites_what_is_still_read():
    report = stencil(("        __syncthreads();  // before the next but one tile lands in this stage\n", ""))[2]
    assert {f.kind for f in report.findings} == {"race"}
    assert {f.place.text for f in report.findings} == {
        "stage[i] = 0.0f;",
        "__pipeline_memcpy_async(&stage[i], &in[from], sizeof(float));",
    }
    assert {f.place.called_from[0][1] for f in report.findings} == {28}  # fetch(stages[stage ^ 1], …)


# histogram: atomics on dynamic shared memory ------------------------------------------------------------------------


def histogram(*edits, dynamic_smem=4 * BINS):
    x = random(4096).mul(64).to(torch.uint8)
    counts = torch.zeros(BINS, dtype=torch.int32)
    arguments = {"counts": counts, "x": x, "n": len(x)}
    report = simulate_cuda(source("histogram", *edits), (3,), (128,), arguments, dynamic_smem)
    return counts, x.long().bincount(minlength=BINS), report


def test_histogram():
    counts, want, report = histogram()
    assert torch.equal(counts.long(), want)
    assert not report.findings


def test_histogram_of_bins_that_nobody_cleared():
    assert only(histogram(("mine[bin] = 0;", ";"))[2]).kind == "unwritten"


def test_histogram_launched_without_its_shared_memory():
    report = histogram(dynamic_smem=0)[2]
    assert {f.kind for f in report.findings} == {"outside"}
    assert "writes byte 0 of shared memory, of which the block has 0" in report.findings[0].message
    assert report.findings[0].place.text == "mine[bin] = 0;"


# nvcuda::wmma, the tensor cores of CUDA C++ --------------------------------------------------------------------------

SMALL = {"M": 16, "N": 16, "K": 16, "INPUT": "half", "OUTPUT": "float", "A_MAJOR": "row_major", "B_MAJOR": "row_major"}
TORCH = {"half": torch.half, "__nv_bfloat16": torch.bfloat16, "signed char": torch.int8, "float": torch.float,
         "int": torch.int32}  # fmt: skip


def matmul_wmma(*edits, **chosen):
    given = SMALL | chosen
    defines = [(f"#define {name} {SMALL[name]}\n", f"#define {name} {value}\n") for name, value in chosen.items()]
    rows, columns, inner = 2 * given["M"], 3 * given["N"], 4 * given["K"]
    a, b = (random(*shape).mul(4).round() for shape in ((rows, inner), (inner, columns)))  # sums are exact
    c = torch.full((rows, columns), 7, dtype=TORCH[given["OUTPUT"]])
    as_stored = {
        name: (x if given[f"{name.upper()}_MAJOR"] == "row_major" else x.T).to(TORCH[given["INPUT"]]).contiguous()
        for name, x in (("a", a), ("b", b))
    }
    arguments = {"c": c, **as_stored, "rows": rows, "columns": columns, "inner": inner}
    report = simulate_cuda(source("matmul_wmma", *defines, *edits), (2, 1), (64, 2), arguments)
    return c.float(), 2 * a @ b, report


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"A_MAJOR": "col_major", "B_MAJOR": "col_major", "INPUT": "__nv_bfloat16"},
        {"M": 32, "N": 8},
        {"M": 8, "N": 32, "INPUT": "__nv_bfloat16", "B_MAJOR": "col_major"},
        {"OUTPUT": "half"},
        {"INPUT": "signed char", "OUTPUT": "int"},
    ],
    ids=str,
)
def test_wmma(chosen):
    c, want, report = matmul_wmma(**chosen)
    assert torch.equal(c, want)
    assert not report.findings


def test_wmma_past_the_end():
    report = matmul_wmma(("row >= rows || column >= columns", "row >= rows || column > columns"))[2]
    assert {f.kind for f in report.findings} == {"outside", "overlap"}
    outside = next(f for f in report.findings if f.kind == "outside")
    assert outside.place.text.startswith("wmma::load_matrix_sync(b_part")


# half2, whose functions are PTX in NVIDIA's header -------------------------------------------------------------------


def sigmoid(*edits):
    x = random(301)[:300].half()
    want = torch.sigmoid(x.double())
    return x, want, simulate_cuda(source("sigmoid_half2", *edits), (3,), (64,), {"x": x, "n": len(x)})


def test_half2():
    x, want, report = sigmoid()
    torch.testing.assert_close(x.double(), want, rtol=2**-8, atol=0)  # four roundings to fp16
    assert not report.findings


def test_half2_one_pair_too_many():
    found = only(sigmoid(("2 * i < n", "2 * i <= n"))[2])
    assert found.kind == "outside"
    assert "loads x[300], which lies outside x of shape (300,)" in found.message
    assert found.place.text == "x[i] = h2rcp(__hadd2(one, h2exp(__hneg2(x[i]))));"


def test_a_barrier_in_shared_memory():
    """cuda::barrier is an mbarrier."""
    x = random(128)
    want = x.view(2, 64).flip(1).reshape(-1)
    report = simulate_cuda(source("reverse_barrier"), (2,), (64,), {"x": x})
    assert torch.equal(x, want)
    assert not report.findings


# clusters ------------------------------------------------------------------------------------------------------------


def neighbor(*edits):
    x, y = random(64), unwritten(64)
    report = simulate_cuda(source("neighbor", *edits), (2,), (32,), {"x": x, "y": y}, arch="sm_90")
    return y, x.view(2, 32).flip(0).reshape(-1), report


def test_a_pair_of_blocks():
    y, want, report = neighbor()
    assert torch.equal(y, want)
    assert not report.findings


def test_a_pair_of_blocks_without_its_barrier():
    found = only(neighbor(("    cluster.sync();  // both have stored\n", ""))[2])
    assert found.kind == "race"
    assert found.place.text.startswith("y[at] =")


# What stops others --------------------------------------------------------------------------------------------------


@pytest.mark.xfail(raises=NotSimulated, strict=True, reason="a call of a function of the kernel's own: call")
def test_a_function_that_is_not_inlined():
    x = torch.zeros(10, dtype=torch.int32)
    simulate_cuda(source("fibonacci"), (1,), (10,), {"x": x})
    assert x.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]

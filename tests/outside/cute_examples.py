"""NVIDIA's CuTe DSL examples: each file is run as the program that it is, which compares with torch itself."""

import shlex
from collections.abc import Iterator

from tests.outside.table import PYTHON, Case, Source

AMPERE_SOURCE, HOPPER_SOURCE, BLACKWELL_SOURCE, PRIMITIVES_SOURCE, TUTORIALS_SOURCE = (
    Source(f"CuTe DSL: {of}", "NVIDIA/cutlass", "TUTORLIB_CUTLASS", "nvidia-cutlass-dsl")
    for of in ("Ampere", "Hopper", "Blackwell", "primitives", "tutorials of the DSL")
)
ROOT = "examples/python/CuTeDSL"

GEMM = "--mnkl 136,144,96,1"
AMPERE = {
    "cute/ampere/kernel/elementwise/elementwise_add.py": ["--M 70 --N 300"],
    "cute/ampere/kernel/elementwise/elementwise_apply.py": ["--M 64 --N 256 --op mul"],
    "cute/ampere/tutorial/elementwise_add_autotune.py": ["--M 64 --N 256"],
    "cute/ampere/kernel/dense_gemm/sgemm.py": ["--mnk 200,136,44 --a_major m --b_major n"],
    "cute/ampere/kernel/dense_gemm/tensorop_gemm.py": [
        "--mnkl 200,136,88,1 --atom_layout_mnk 2,2,1 --a_major k --b_major k",
        "--mnkl 200,136,96,2 --atom_layout_mnk 2,2,1 --a_major m --b_major n",
    ],
    "cute/ampere/kernel/attention/flash_attention_v2.py": [
        "--batch_size 1 --seqlen_q 200 --seqlen_k 150 --num_head 2 --head_dim 64",
        "--batch_size 1 --seqlen_q 200 --seqlen_k 200 --num_head 1 --head_dim 64 --is_causal",
    ],
    "cute/ampere/kernel/attention/hstu_attention.py": [
        "--batch_size 1 --seqlen_q 100 --seqlen_kv 136 --num_head 2 --head_dim 64"
    ],
    "cute_ext/ampere/memcpy_simt_universal_copy.py": [""],
    "dsl_tutorials/call_bypass_dlpack.py": [""],
    "dsl_tutorials/call_from_jit.py": [""],
    "dsl_tutorials/cooperative_launch.py": [""],
    "dsl_tutorials/inline_ptx.py": [""],
    "dsl_tutorials/smem_allocator.py": [""],
}
HOPPER = {
    "cute/hopper/kernel/dense_gemm/dense_gemm.py": [
        f"{GEMM} --tile_shape_mn 128,128",
        f"{GEMM} --tile_shape_mn 64,64 --cluster_shape_mn 2,1 --a_major m --b_major n --c_major m",
        f"{GEMM} --tile_shape_mn 128,128 --a_dtype Float8E4M3FN --b_dtype Float8E4M3FN",
    ],
    "cute/hopper/kernel/dense_gemm/dense_gemm_persistent.py": [
        f"{GEMM} --tile_shape_mn 128,128",
        f"{GEMM} --tile_shape_mn 128,256 --cluster_shape_mn 2,1",
    ],
    "cute/hopper/kernel/dense_gemm/dense_gemm_fp8_2xacc.py": [f"{GEMM} --cluster_shape_mn 1,1"],
    "cute/hopper/kernel/dense_gemm/dense_gemm_fp8_gelu_persistent.py": [f"{GEMM}"],
    "cute/hopper/kernel/grouped_gemm/grouped_gemm.py": [
        "--num_groups 2 --problem_sizes_mnkl (128,64,64,1),(64,128,96,1) --tensormap_update_mode SMEM",
        "--num_groups 2 --problem_sizes_mnkl (128,64,64,1),(64,128,96,1) --tensormap_update_mode GMEM",
    ],
    "cute/hopper/kernel/attention/fmha.py": [
        "--q_shape 1,128,1,64 --k_shape 1,128,1,64",
        "--q_shape 1,150,2,64 --k_shape 1,150,1,64 --is_causal --is_persistent",
    ],
    "cute/hopper/kernel/cta_norm/cta_norm.py": ["--M 6 --N 1024", "--M 6 --N 1024 --norm_type rms"],
    "dsl_tutorials/launch_completion_and_programmatic_events.py": [""],
    "dsl_tutorials/programmatic_dependent_launch.py": ["--M 64 --N 64 --use_pdl"],
}
BLACKWELL = {
    **{
        f"cute/blackwell/kernel/dense_gemm/dense_gemm{name}.py": [
            f"--mnkl 256,256,128,1 --ab_dtype Float16 --c_dtype Float16 --iterations 1 {more}".strip()
        ]
        for name, more in {
            "": "--use_tma_store",
            "_persistent": "--use_tma_store",
            "_software_pipeline": "--use_tma_store",
            "_alpha_beta_persistent": "--d_dtype Float16",
            "_persistent_prefetch": "--use_tma_store",
            "_persistent_dynamic": "--use_tma_store",
        }.items()
    },
    **{
        f"cute/blackwell/tutorial/tutorial_gemm/fp16_gemm_{n}.py": ["--mnk 256,256,128"]
        for n in (0, 1, 2, 3, "3_1", 4, 5, 6)
    },
    **{
        f"cute/blackwell/tutorial/tutorial_tma/tma_v{n}.py": ["--M 128 --N 128 --num_warmup 0 --num_iters 1"]
        for n in range(3)
    },
    "cute/blackwell/kernel/rmsnorm/rmsnorm.py": ["--M 8 --N 512"],
}
TARGETS = ("sm_80", "sm_90a", "sm_100a")
SINCE_BLACKWELL = {"tma_multicast.py"}  # libNVVM compiles it for no older GPU


def cases() -> Iterator[Case]:
    of_targets = (AMPERE, HOPPER, BLACKWELL), (AMPERE_SOURCE, HOPPER_SOURCE, BLACKWELL_SOURCE)
    for target, programs, source in zip(TARGETS, *of_targets, strict=True):
        for path, arguments in programs.items():
            of = TUTORIALS_SOURCE if path.startswith("dsl_tutorials") else source
            for each in arguments:
                yield case(of, path, each, target)
    for file in sorted((AMPERE_SOURCE.checkout / ROOT / "experimental/primitives").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "assert" in text or "allclose" in text:
            since_blackwell = "tcgen05" in text or "tmem" in text or file.name in SINCE_BLACKWELL
            target = "sm_100a" if since_blackwell else "sm_90a"
            arguments = "--a-dtype all" if "--a-dtype" in text else ""
            yield case(PRIMITIVES_SOURCE, str(file.relative_to(AMPERE_SOURCE.checkout / ROOT)), arguments, target)


def case(source: Source, path: str, arguments: str, target: str) -> Case:
    root = AMPERE_SOURCE.checkout / ROOT
    folders = [str(folder) for folder in (root / path).parents if folder.is_relative_to(root)]
    command = (PYTHON, str(root / path), *shlex.split(arguments))
    return Case(source, f"{path} {arguments}".strip(), target, command, tuple(folders))

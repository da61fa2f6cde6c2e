"""NVIDIA's programs, run as they are: the CuTe DSL's examples, cuTile's samples, and TileGym's tests of its kernels."""

import shlex
from collections.abc import Iterator

from tests.outside.runs import PYTHON, Case, Source

AMPERE_SOURCE, HOPPER_SOURCE, BLACKWELL_SOURCE, PRIMITIVES_SOURCE, TUTORIALS_SOURCE = (
    Source(f"CuTe DSL: {of}", "NVIDIA/cutlass", "TUTORLIB_CUTLASS")
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


def cute_cases() -> Iterator[Case]:
    of_targets = (AMPERE, HOPPER, BLACKWELL), (AMPERE_SOURCE, HOPPER_SOURCE, BLACKWELL_SOURCE)
    for target, programs, source in zip(TARGETS, *of_targets, strict=True):
        for path, arguments in programs.items():
            of = TUTORIALS_SOURCE if path.startswith("dsl_tutorials") else source
            for each in arguments:
                yield cute_case(of, path, each, target)
    for file in sorted((AMPERE_SOURCE.checkout / ROOT / "experimental/primitives").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "assert" in text or "allclose" in text:
            since_blackwell = "tcgen05" in text or "tmem" in text or file.name in SINCE_BLACKWELL
            target = "sm_100a" if since_blackwell else "sm_90a"
            arguments = "--a-dtype all" if "--a-dtype" in text else ""
            yield cute_case(PRIMITIVES_SOURCE, str(file.relative_to(AMPERE_SOURCE.checkout / ROOT)), arguments, target)


def cute_case(source: Source, path: str, arguments: str, target: str) -> Case:
    root = AMPERE_SOURCE.checkout / ROOT
    folders = [str(folder) for folder in (root / path).parents if folder.is_relative_to(root)]
    command = (PYTHON, str(root / path), *shlex.split(arguments))
    return Case(source, f"{path} {arguments}".strip(), target, command, tuple(folders))


SAMPLES_SOURCE = Source("cuTile's samples", "NVIDIA/cutile-python", "TUTORLIB_CUTILE_SAMPLES")
TILEGYM_SOURCE = Source("TileGym", "NVIDIA/TileGym", "TUTORLIB_TILEGYM")
SAMPLES = ("VectorAddition", "Transpose", "MatMul", "BatchMatMul", "LayerNorm", "FFT", "MoE", "AttentionFMHA")
SIZES = [1024, 512, 256, 128]
TESTS = {  # of tests/ops: by file some whose sizes are small
    "activation/test_geglu.py": ["Test_GEGLU::test_op[cutile-(4,)-0-torch.float32-tanh]"],
    "activation/test_gelu.py": ["Test_GeLU::test_op[cutile-256-2048-none-torch.float32]"],
    "activation/test_relu.py": ["Test_ReLU::test_op[cutile-256-64-torch.float16]"],
    "experimental/test_attention_backward.py": ["Test_FMHA_Backward::test_op_functional_api_training_mode[cutile]"],
    "experimental/test_fused_linear_cross_entropy.py": [
        "TestFusedLinearCrossEntropy::test_op_forward_matches_pytorch[cutile-2-64-256-2048-torch.bfloat16-mean]"
    ],
    "experimental/test_fused_swiglu_backward.py": [
        "Test_FusedSwiGLUBackward::test_op[cutile-torch.float32-2-64-256-512]"
    ],
    "experimental/test_mhc.py": ["Test_MHC::test_op_mhc_sinkhorn[cutile-256-4-torch.float32]"],
    "experimental/test_rmsnorm_backward.py": ["Test_RMSNormBackward::test_op[cutile-256-256-torch.float16]"],
    "experimental/test_sparse_mla.py": ["Test_SparseMLA::test_op_basic[cutile-torch.bfloat16-1-16-64-128-128-64-1-64]"],
    "experimental/test_swa_attention.py": ["TestSWAAttention::test_op_window_equals_seq[cutile]"],
    "test_attention.py": ["Test_FMHA::test_op[cutile-1-1-9-128-False-torch.bfloat16]"],
    "test_attention_sink.py": ["Test_AttentionSink::test_op[cutile-0-None-0.125-64-8-8-32-1-1]"],
    "test_bmm.py": ["Test_BMM_FWD::test_op[cutile-True-4-128-256-511-True-True-torch.float16]"],
    "test_chunk_gated_delta_rule.py": ["Test_ChunkGatedDeltaRule::test_op[cutile-minimal-bf16]"],
    "test_dropout.py": ["Test_Dropout::test_op[cutile-1024-0.2-True-True-torch.float32-1e-05]"],
    "test_flash_decode.py": ["Test_FlashDecode::test_op[cutile-torch.float16-1-9]"],
    "test_gemma_attention.py": ["TestGemmaAttention::test_op[cutile-1-8-8-128-64-0-None-False-torch.float16]"],
    "test_gemma_attention_decode.py": ["TestGemmaAttentionDecode::test_op[cutile-1-8-8-128-64-0-None-torch.float16]"],
    "test_group_gemm.py": [f"Test_GroupGemm::test_op[cutile-{SIZES}-{SIZES}-{[128] * 4}-True-torch.float16]"],
    "test_layer_norm_legacy.py": ["Test_LayerNorm::test_op[cutile-9-9-0.0-torch.float16]"],
    "test_matmul.py": [
        f"Test_Matmul::test_op[cutile-use_tma=True-static_persistent={persistent}-8-8-8-0-0-False-False-torch.bfloat16]"
        for persistent in (True, False)
    ],
    "test_mla_decoding.py": ["Test_MLADecoding::test_op[cutile-512-64-torch.float16-16-True]"],
    "test_mla_decoding_split_kv.py": ["Test_MLADecodingSplitKV::test_op[cutile-torch.float16-128-129-8]"],
    "test_moe.py": ["Test_MOE::test_op[cutile-torch.bfloat16-16-512-256-8-2]"],
    "test_recurrent_gated_delta_rule.py": ["Test_RecurrentGatedDeltaRule::test_op[cutile-decode-fp32]"],
    "test_rms_norm.py": ["Test_RMSNorm::test_op[cutile-None-256-256-torch.float16]"],
    "test_silu_and_mul.py": ["Test_SiLUAndMul::test_op_irregular_shapes[cutile-8-100-512-torch.float32]"],
    "test_softmax.py": [
        f"Test_Softmax::test_op[{way}-cutile-256-9-torch.float32]"
        for way in ("baseline", "use_tma", "use_chunked", "use_multi_wave")
    ],
    "test_splitk_reduce.py": ["Test_SplitkReduce::test_op[cutile-torch.float16-1-512-16-1]"],
    "test_swiglu.py": ["Test_SwiGLU::test_op_backward_irregular[cutile-8-100-512]"],
}


def cases() -> Iterator[Case]:
    """Of the sources that are here."""
    if AMPERE_SOURCE.is_here:
        yield from cute_cases()
    if SAMPLES_SOURCE.is_here:
        root = SAMPLES_SOURCE.checkout
        for name in SAMPLES:
            command = (PYTHON, str(root / f"samples/{name}.py"), "--correctness-check")
            yield Case(SAMPLES_SOURCE, f"{name}.py", "sm_100a", command, (str(root),))
    if TILEGYM_SOURCE.is_here:
        root = TILEGYM_SOURCE.checkout
        for file, tests in TESTS.items():
            for test in tests:
                command = (PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{root}/tests/ops/{file}::{test}")
                yield Case(TILEGYM_SOURCE, f"{file}::{test}", "sm_100a", command, (str(root / "src"), str(root)))

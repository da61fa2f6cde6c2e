"""cuTile's samples, run as the programs that they are, and the tests that TileGym has of its kernels."""

from collections.abc import Iterator

from tests.outside.table import PYTHON, Case, Source

SAMPLES_SOURCE = Source("cuTile's samples", "NVIDIA/cutile-python", "TUTORLIB_CUTILE_SAMPLES", "cuda-tile")
TILEGYM_SOURCE = Source("TileGym", "NVIDIA/TileGym", "TUTORLIB_TILEGYM", "cuda-tile")
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

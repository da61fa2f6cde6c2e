"""The sweep over the weights of language models."""

from tutorlib.instruments.sweeps import make_sweep
from tutorlib.instruments.sweeps.hopper import MODELS, TOKENS, model_shapes
from tutorlib.kernels.fused.mlp import LLAMA_8B
from tutorlib.kernels.hopper.choose import shape_problem
from tutorlib.machine.features import WGMMA


def test_117_shapes_that_tma_takes_each_weight_at_each_number_of_tokens():
    sweep = make_sweep("gemm_models")
    assert len(sweep.shapes) == len(set(sweep.shapes)) == 117
    assert [shape_problem(*shape) for shape in sweep.shapes] == [None] * 117
    assert {tokens for tokens, _, _ in sweep.shapes} == set(TOKENS)
    assert [candidate.needs for candidate in sweep.candidates] == [WGMMA]


def test_the_file_says_which_weight_is_whose():
    models = make_sweep("gemm_models").facts["models"]
    weights = [(n, k) for model in models.values() for n, k in model.values()]
    assert [(n, k) for _, n, k in model_shapes((8,))] == weights


def test_llamas_weights_are_those_of_notebook_16():
    hidden, features = LLAMA_8B
    assert MODELS["Llama 3 8B"]["gate, up"] == (2 * features, hidden)
    assert MODELS["Llama 3 8B"]["down"] == (hidden, features)

"""The self-configuring GEMM on the weights of language models, by the number of tokens, beside cuBLAS and QuACK."""

from itertools import chain, product

from tutorlib.instruments.sweeps.hopper import PAIRS_IF_LARGE, self_configuring
from tutorlib.instruments.sweeps.quack import tuned_quack
from tutorlib.instruments.sweeps.sweep import Sweep
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Shape

TOKENS = (8, 16, 64, 128, 256, 512, 1024, 4096, 8192)
TOKENS_OF_QUACK = (64, 512, 4096)  # it tries all of its configurations at each shape, for seconds
MODELS: dict[str, dict[str, tuple[int, int]]] = {  # rows N and columns K of each weight
    "Llama 3 8B": {"q, k, v": (6144, 4096), "o": (4096, 4096), "gate, up": (28672, 4096), "down": (4096, 14336)},
    "Llama 3 70B, an eighth of each weight": {
        "q, k, v": (1280, 8192), "o": (8192, 1024), "gate, up": (7168, 8192), "down": (8192, 3584)
    },
    "DeepSeek-V3": {
        "q, kv down": (2112, 7168), "q up": (24576, 1536), "o": (7168, 16384),
        "expert's gate, up": (4096, 7168), "expert's down": (7168, 2048),
    },
}  # fmt: skip


def model_shapes(counts: tuple[int, ...]) -> tuple[Shape, ...]:
    """(tokens, N, K) of every weight, all weights for each of these numbers of tokens."""
    weights = chain.from_iterable(model.values() for model in MODELS.values())
    return tuple((tokens, *weight) for tokens, weight in product(counts, weights))


def gemm_models() -> Sweep:
    """Every weight at every number of tokens; `--resume` measures those for which there was no time."""
    weights = {model: {name: list(nk) for name, nk in weights.items()} for model, weights in MODELS.items()}
    return Sweep(
        gemm("bf16"),
        (self_configuring(),),
        model_shapes(TOKENS),
        pairs_if_large=PAIRS_IF_LARGE,
        seconds=150,
        facts={"models": weights},
    )


def gemm_models_quack() -> Sweep:
    """The same beside QuACK at some numbers of tokens. Raises NoExample."""
    candidates = (self_configuring(), tuned_quack())
    return Sweep(gemm("bf16"), candidates, model_shapes(TOKENS_OF_QUACK), pairs_if_large=PAIRS_IF_LARGE, seconds=300)

"""How answers of page 18 are judged: kernels around an epilogue's functions.

The sandbox shows this module, and nothing else of the page.
"""

from typing import Any

from tutorlib.checking.part import Filled, HostFunction

# Kernels around an answer that is one of their functions --------------------------------------------------------------


def with_bias_matrix(filled: Filled) -> HostFunction:
    from cutlass import cute

    from tutorlib.kernels.ampere.fused import Fusion, bias_gelu, make_fused

    def as_matrix(bias: cute.Tensor, rows: int) -> cute.Tensor:
        """bias: (images, the columns of three layers), of which the answer is given the second's."""
        images, every = bias.shape
        tokens, columns = rows // images, every // 3
        layer = cute.make_tensor(bias.iterator + columns, cute.make_layout((images, columns), stride=(every, 1)))
        got = require_extents(filled["as_matrix"](layer, tokens), (rows, columns))
        for row, column in ((1, 0), (0, 1), (tokens - 1, 0), (tokens, 0), (tokens, 1)):
            at, wanted = cute.crd2idx((row, column), got.layout), row // tokens * every + column
            if isinstance(at, int) and at != wanted:
                what = f"with {tokens} tokens an image, element {(row, column)} of its matrix is at offset {at}"
                raise ValueError(f"{what} of the bias; it should be at offset {wanted}")
        return got

    return make_fused(Fusion(bias_gelu, as_matrix=as_matrix))


def with_gate(filled: Filled) -> HostFunction:
    from cutlass import cute

    from tutorlib.kernels.ampere.config import GemmConfig
    from tutorlib.kernels.ampere.fused import make_gated

    def activate(tCrC: cute.Tensor) -> cute.Tensor:
        pairs, atoms, (neighbors, rest) = tCrC.shape
        return require_extents(filled["activate"](tCrC), (pairs, atoms, (neighbors, rest // 2)))

    return make_gated(activate, GemmConfig((64, 128, 32), (4, 1)))  # four of a warp's steps along N


def require_extents(got: Any, wanted: tuple[Any, ...]) -> Any:
    """The tensor that an answer returned. Raises ValueError unless its modes have the wanted sizes and profile."""
    from cutlass import cute

    if not isinstance(got, cute.Tensor):
        kind = "nothing" if got is None else f"a {type(got).__name__.removeprefix('_')}"
        raise ValueError(f"it returns {kind}; it should return a tensor of shape {wanted}")
    extents = tuple(cute.size(got, mode=[n]) for n in range(cute.rank(got)))
    if extents != tuple(map(cute.size, wanted)) or any(
        isinstance(mode, tuple) and not isinstance(mine, tuple) for mine, mode in zip(got.shape, wanted, strict=True)
    ):
        raise ValueError(f"it returns a tensor of shape {got.shape}; the shape should be {wanted}")
    return got

"""Wrong answers to notebook 16 that any machine tells by what they return: layouts, gradients and modules."""

from functools import partial

import torch
from torch import nn

from tests.pages.solved import replaced
from tests.pages.table import answer, says
from tutorlib.kernels.fused.linear import KernelLinear

NAMES = {"torch": torch, "nn": nn, "KernelLinear": KernelLinear}


backward, used, sharded = (partial(replaced, id, NAMES) for id in ("16.8", "16.10", "16.11"))

INTERLEAVINGS = [
    answer("pieces_first", "Slowest first.", lambda f, w: ((f // w, 2, w), (w, f, 1)), "first mode runs fastest"),
    answer("one_after_the_other", "Gate, then up.", lambda f, w: ((2 * f,), (1,)), "as it was"),
    answer("single_rows", "Width 1.", lambda f, w: ((2, f), (f, 1)), "pieces have `width` rows"),
    answer(
        "pieces_too_far", "2·width between pieces.", lambda f, w: ((w, 2, f // w), (1, f, 2 * w)), "from one another"
    ),
    answer("where_it_goes", "The inverse's strides.", lambda f, w: ((w, f // w, 2), (1, 2 * w, w))),
    answer("no_up", "Width rows on.", lambda f, w: ((w, 2, f // w), (1, w, 2 * w))),
    answer("too_few", "Gate alone.", lambda f, w: ((w, f // w), (1, w)), "together have"),
    answer("without_an_end", "2^60 rows.", lambda f, w: ((2,) * 60, (1,) * 60), "between 1 and 1,048,576 rows"),
    answer("a_layout_short", "One stride is missing.", lambda f, w: ((w, 2, f // w), (1, f)), "equally long"),
    answer("halves", "Gate and up in two halves of a piece.", lambda f, w: ((w // 2, 2, 2 * f // w), (1, f, w // 2))),
    answer("no_pair", "A number.", lambda f, w: f // w, "a pair (shape, stride)"),
]

BACKWARDS = [
    backward("exchanged", "The other order.", ("return dx.view(x.shape), dw", "return dw, dx.view(x.shape)")),
    backward(
        "in_out", "weight's gradient transposed.", ("dx.view(x.shape), dw", "dx.view(x.shape), dw.mT.contiguous()")
    ),
    backward(
        "in_fp32",
        "Converted.",
        ("dx.view(x.shape), dw", "dx.view(x.shape).float(), dw.float()"),
        words=("should be float64",),
    ),
    backward("flat", "x's gradient as a matrix.", ("dx.view(x.shape), dw", "dx, dw")),
    backward(
        "as_a_view", "A transposed view.", ("weight.mT.contiguous()", "weight.mT"), words=("is a transposed view",)
    ),
    backward("as_forward", "weight as it is.", ("weight.mT.contiguous()", "weight"), words=("raised",)),
    backward(
        "sums_over_columns",
        "dw from rows.",
        ("grads.mT.contiguous(), rows.mT.contiguous()", "grads.contiguous(), rows.contiguous()"),
        words=("raised",),
    ),
    backward(
        "x_for_grad",
        "weight's gradient of x alone.",
        ("grads.mT.contiguous(), rows.mT.contiguous()", "rows.mT.contiguous(), rows.mT.contiguous()"),
    ),
    answer(
        "by_torch",
        "No gemm.",
        lambda grad, x, weight, gemm: (grad @ weight, grad.flatten(0, -2).mT @ x.flatten(0, -2)),
        "gemm was called 0 times",
    ),
    answer(
        "x_alone",
        "One gradient.",
        lambda grad, x, weight, gemm: gemm(grad.flatten(0, -2).contiguous(), weight.mT.contiguous()).view(x.shape),
        "two tensors",
    ),
    backward(
        "row_by_row",
        "Many small GEMMs.",
        (
            "gemm(grads.contiguous(), weight.mT.contiguous())",
            "torch.cat([gemm(g[None].contiguous(), weight.mT.contiguous()) for g in grads])",
        ),
        words=("gemm was called",),
    ),
    backward(
        "clones_grad",
        "Copies what has contiguous rows.",
        ("gemm(grads.contiguous()", "gemm(grads.clone()"),
        words=("it copies 192 numbers",),
    ),
    backward(
        "clones_results",
        "Copies of both gradients.",
        ("return dx.view(x.shape), dw", "return dx.view(x.shape).clone(), dw.clone()"),
        words=("it copies 264 numbers",),
    ),
    backward(
        "transposes_back",
        "Copies weight three times.",
        ("weight.mT.contiguous()", "weight.mT.contiguous().mT.contiguous().mT.contiguous()"),
        words=("it copies 216 numbers",),
    ),
]

FAKES = [
    answer(
        "on_the_cpu",
        "torch.empty where the default is.",
        lambda x, w: torch.empty(*x.shape[:-1], w.shape[0], dtype=x.dtype),
        "on cpu",
    ),
    answer(
        "in_fp32",
        "The default dtype.",
        lambda x, w: torch.empty(*x.shape[:-1], w.shape[0], device=x.device),
        "bfloat16",
    ),
    answer("in_features", "The wrong side of weight.", lambda x, w: x.new_empty(*x.shape[:-1], w.shape[1])),
    answer("a_matrix", "Rows flattened.", lambda x, w: x.new_empty(x.flatten(0, -2).shape[0], w.shape[0])),
    answer("computed", "A number, which a fake has none of.", lambda x, w: (x.flatten(0, -2) @ w.mT).sum().item()),
    answer("by_the_product", "Computes the product.", lambda x, w: x @ w.mT, "it computes, by aten.mm"),
    answer(
        "by_linear",
        "Computes the layer, for its shape.",
        lambda x, w: torch.empty_like(nn.functional.linear(x, w)),
        "it computes, by aten.mm",
    ),
    answer("like_x", "As large as x.", lambda x, w: torch.empty_like(x)),
    answer("a_size", "A shape, no tensor.", lambda x, w: (*x.shape[:-1], w.shape[0]), "no tensor"),
    answer(
        "by_length",
        "len() asks for a number.",
        lambda x, w: x.new_empty(*x.shape[:-1], len(w)),
        "asks for a size's value",
    ),
    answer(
        "by_int",
        "int() does, too.",
        lambda x, w: x.new_empty(*map(int, x.shape[:-1]), w.shape[0]),
        "asks for a size's value",
    ),
    answer(
        "transposed",
        "Strides of another result.",
        lambda x, w: x.new_empty(w.shape[0], *x.shape[:-1]).movedim(0, -1),
        "strides",
    ),
]


def new_layers(module):
    """Parameters of their own."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, KernelLinear(child.in_features, child.out_features, child.bias is not None))
        else:
            new_layers(child)
    return module


def copied_weights(module):
    """The same numbers in other tensors."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            new = KernelLinear(child.in_features, child.out_features, child.bias is not None, dtype=child.weight.dtype)
            new.load_state_dict(child.state_dict())
            setattr(module, name, new.train(child.training))
        else:
            copied_weights(child)
    return module


SWAPS = [
    new_layers,
    says("is another tensor now")(copied_weights),
    used(
        "copies_the_bias",
        "Another bias.",
        ("child.weight, child.bias\n", "child.weight, child.bias and nn.Parameter(child.bias.clone())\n"),
    ),
    used("top_level", "Not below.", ("        else:\n            use_kernels(child)\n", "")),
    used("subclasses_too", "isinstance.", ("type(child) is nn.Linear", "isinstance(child, nn.Linear)")),
    used(
        "forgets_the_bias",
        "No bias.",
        ("new.weight, new.bias = child.weight, child.bias", "new.weight, new.bias = child.weight, None"),
    ),
    used("in_training", "Always in training.", ("new.train(child.training)", "new"), words=("eval mode",)),
    used(
        "of_one_feature",
        "Layers that say they have one input and one output.",
        ("child.in_features, child.out_features", "1, 1"),
        words=("in_features",),
    ),
    used("returns_nothing", "None.", ("\n    return module", "")),
    used(
        "left_on_meta",
        "Keeps the meta weight.",
        ("new.weight, new.bias = child.weight, child.bias", "new.bias = child.bias"),
    ),
    answer("untouched", "Does nothing.", lambda module: module, "is a Linear"),
]


def whole(gate, up, down, rank, world):
    """Every rank has everything."""
    return gate.clone(), up.clone(), down.clone()


SHARDS = [
    whole,
    sharded("views", "Views.", ("gate[mine].clone(), up[mine].clone()", "gate[mine], up[mine]"), words=("is a view",)),
    sharded(
        "views_of_copies",
        "Parts of copies of the whole.",
        ("gate[mine].clone(), up[mine].clone()", "gate.clone()[mine], up.clone()[mine]"),
        words=("is a view",),
    ),
    sharded(
        "copies_the_whole",
        "Clones each matrix, then its part.",
        (
            "gate[mine].clone(), up[mine].clone(), down[:",
            "gate.clone()[mine].clone(), up.clone()[mine].clone(), down.clone()[:",
        ),
        words=("and its share has",),
    ),
    sharded(
        "rows_of_down",
        "down's rows.",
        ("down[:, mine].clone(memory_format=torch.contiguous_format)", "down[mine].clone()"),
    ),
    sharded(
        "down_a_view",
        "down with strides.",
        ("down[:, mine].clone(memory_format=torch.contiguous_format)", "down[:, mine]"),
    ),
    sharded(
        "columns_of_gate",
        "hidden cut.",
        ("gate[mine].clone(), up[mine].clone()", "gate[:, mine].clone(), up[:, mine].clone()"),
    ),
    sharded("always_the_first", "Rank 0's for all.", ("slice(rank * part, (rank + 1) * part)", "slice(0, part)")),
    sharded(
        "no_refusal", "Cuts what does not divide.", ("if features % world:", "if False:"), words=("some are lost",)
    ),
    sharded(
        "another_rank_of_down",
        "down's next part.",
        ("down[:, mine]", "down.roll(part, 1)[:, mine]"),
        words=("belong to the same features",),
    ),
    sharded(
        "every_other",
        "Features dealt out in turn for gate and up alone.",
        ("gate[mine].clone(), up[mine].clone()", "gate[rank::world].clone(), up[rank::world].clone()"),
    ),
    sharded(
        "whole_down",
        "All of down.",
        ("down[:, mine].clone(memory_format=torch.contiguous_format)", "down.clone()"),
        words=("and should have",),
    ),
    sharded(
        "asserts",
        "AssertionError.",
        ('raise ValueError(f"{features} features do not divide among {world} ranks")', "raise AssertionError"),
        words=("should be a ValueError",),
    ),
]

"""Wrong answers to notebook 16 about operators: a fused layer's gradients, a registration, and a module on one."""

from functools import partial

import torch
from torch import nn

from tests.pages.solved import replaced, solution
from tests.pages.table import answer, says

NAMES = {"torch": torch, "nn": nn, "linear_backward": solution("16.8", {"torch": torch})}


backward, registered, gated = (partial(replaced, id, NAMES) for id in ("16.12", "16.13", "16.14"))

# 16.12 linear_gelu_backward ---------------------------------------------------------------------------------------

SLOPE = "(0.5 * (1 + tanh) + 0.5 * z * (1 - tanh**2) * inner)"
GELU_BACKWARDS = [
    backward("no_slope", "GELU has no derivative.", (f"grad * {SLOPE}", "grad")),
    backward("gelu_itself", "GELU in place of its slope.", (SLOPE, "(0.5 * z * (1 + tanh))")),
    backward("half_of_it", "The product rule's first term alone.", (SLOPE, "(0.5 * (1 + tanh))")),
    backward("no_inner", "The chain rule without the argument's derivative.", (" * inner)", ")")),
    backward("tanh_not_squared", "1 - tanh.", ("tanh**2", "tanh")),
    backward("no_bias_in_z", "The slope at x·Wᵀ.", (".view(grad.shape) + bias", ".view(grad.shape)")),
    backward("cube_twice", "2 in place of 3.", ("1 + 3 * 0.044715", "1 + 2 * 0.044715")),
    backward(
        "erfs_slope",
        "GELU's other form, by erf.",
        (SLOPE, "torch.special.ndtr(z) + grad * z * torch.exp(-z * z / 2) * 0.3989422804"),
    ),
    backward(
        "by_exponentials",
        "tanh as (e^u - e^-u) / (e^u + e^-u).",
        (
            "torch.tanh(0.7978845608028654 * (z + 0.044715 * z**3))",
            "(lambda u: (u.exp() - (-u).exp()) / (u.exp() + (-u).exp()))(0.7978845608028654 * (z + 0.044715 * z**3))",
        ),
        words=("NaN",),
    ),
    backward(
        "bias_by_grad", "The bias's gradient from y's.", ("dz.flatten(0, -2).sum(0)", "grad.flatten(0, -2).sum(0)")
    ),
    backward("bias_of_a_row", "The mean of the rows.", ("dz.flatten(0, -2).sum(0)", "dz.flatten(0, -2).mean(0)")),
    backward("bias_not_summed", "dz for the bias.", ("dz.flatten(0, -2).sum(0)", "dz")),
    backward(
        "no_bias",
        "Two gradients.",
        ("*linear_backward(dz, x, weight, gemm), dz.flatten(0, -2).sum(0)", "linear_backward(dz, x, weight, gemm)"),
        words=("three tensors",),
    ),
    backward(
        "z_by_torch",
        "z without gemm.",
        ("gemm(x.flatten(0, -2).contiguous(), weight).view(grad.shape)", "x @ weight.mT"),
        words=("gemm was called 2 times",),
    ),
    backward(
        "z_twice",
        "z for tanh and z for its argument.",
        ("tanh = torch", "z = gemm(x.flatten(0, -2).contiguous(), weight).view(grad.shape) + bias\n    tanh = torch"),
        words=("gemm was called 4 times",),
    ),
    backward(
        "as_a_view",
        "weight transposed, without a copy.",
        (
            "*linear_backward(dz, x, weight, gemm)",
            "gemm(dz.flatten(0, -2), weight.mT).view(x.shape), linear_backward(dz, x, weight, gemm)[1]",
        ),
        words=("is a transposed view",),
    ),
    backward(
        "clones_for_the_rest",
        "Copies of x and of dz, which have contiguous rows.",
        ("linear_backward(dz, x,", "linear_backward(dz.clone(), x.clone(),"),
        words=("it copies 272 numbers",),
    ),
    backward(
        "clones_x_for_z",
        "A copy of x for the first GEMM.",
        ("x.flatten(0, -2).contiguous()", "x.flatten(0, -2).clone()"),
        words=("it copies 232 numbers",),
    ),
    backward("not_flattened", "gemm of x as it is.", ("x.flatten(0, -2).contiguous()", "x"), words=("raised",)),
    answer(
        "by_autograd",
        "torch's own backward of the whole layer.",
        lambda grad, x, weight, bias, gemm: torch.func.vjp(
            lambda *tensors: nn.functional.gelu(nn.functional.linear(*tensors), approximate="tanh"), x, weight, bias
        )[1](grad),
        "gemm was called 0 times",
    ),
]

# 16.13 register -----------------------------------------------------------------------------------------------------

AUTOGRAD = "    operator.register_autograd(lambda ctx, grad: backward(grad, *ctx.saved_tensors), setup_context=keep)\n"
AUTOCAST = """    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.bfloat16)
"""


@says("it returns a function", "custom_op")
def a_function(name, forward, fake, backward):
    """Registers, and returns forward."""
    torch.library.custom_op(name, forward, mutates_args=())
    return forward


def a_python_function(name, forward, fake, backward):
    """An autograd.Function, of which the dispatcher knows nothing."""

    class Operator(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return backward(grad, *ctx.saved_tensors)

    return Operator.apply


def around_the_operator(name, forward, fake, backward):
    """The operator in an autograd.Function: what is returned is a method."""
    operator = torch.library.custom_op(name, forward, mutates_args=())
    operator.register_fake(fake)

    class Around(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return operator(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return backward(grad, *ctx.saved_tensors)

    return Around.apply


REGISTRATIONS = [
    a_function,
    a_python_function,
    around_the_operator,
    registered("no_fake", "No fake.", ("    operator.register_fake(fake)\n", "")),
    registered("forward_as_fake", "The kernel as its own fake.", ("register_fake(fake)", "register_fake(forward)")),
    registered("no_backward", "No autograd.", (AUTOGRAD, ""), words=("backward() fails",)),
    registered("no_autocast", "No autocast.", (AUTOCAST, ""), words=("nn.Linear returns bfloat16",)),
    registered("cpu_alone", "No rule for GPUs.", ('("cpu", "cuda")', '("cpu",)'), words=('none for "cuda"',)),
    registered("gpu_alone", "No rule for the CPU.", ('("cpu", "cuda")', '("cuda",)')),
    registered("to_fp16", "Casts to fp16.", ("torch.bfloat16", "torch.float16"), words=("float16",)),
    registered(
        "one_name",
        "The same name for all.",
        ("custom_op(name, ", 'custom_op("wrong16::one_name", '),
        words=("the operator wrong16::one_name",),
    ),
    registered("changes_all", "Says that it writes to its inputs.", ("mutates_args=()", 'mutates_args="unknown"')),
    registered(
        "result_saved",
        "The result is saved with the inputs.",
        ("(*inputs)", "(*inputs, output)"),
        ("*ctx.saved_tensors)", "*ctx.saved_tensors[:-1])"),
        words=("keeps the result or copies",),
    ),
    registered(
        "result_as_attribute",
        "A view of the result as an attribute of ctx.",
        ("(*inputs)", "(*inputs)\n        ctx.result = output.detach()"),
        words=("keeps the result or copies",),
    ),
    registered(
        "copies_kept",
        "A copy of each input, besides.",
        ("(*inputs)", "(*inputs)\n        ctx.copies = [one.clone() for one in inputs]"),
        words=("keeps the result or copies",),
    ),
    registered(
        "forward_twice",
        "Calls forward, and once more.",
        (
            "    operator = torch.library.custom_op(name, forward, mutates_args=())\n",
            "    schema = torch.library.infer_schema(forward, mutates_args=())\n"
            "    twice = lambda *inputs: (forward(*inputs), forward(*inputs))[1]\n"
            "    operator = torch.library.custom_op(name, twice, mutates_args=(), schema=schema)\n",
        ),
        words=("calls forward 2 times",),
    ),
    registered(
        "clones_inputs",
        "Copies of what forward only reads.",
        (
            "    operator = torch.library.custom_op(name, forward, mutates_args=())\n",
            "    schema = torch.library.infer_schema(forward, mutates_args=())\n"
            "    cloned = lambda *inputs: forward(*(one.clone() for one in inputs))\n"
            "    operator = torch.library.custom_op(name, cloned, mutates_args=(), schema=schema)\n",
        ),
        words=("copies inputs or the result",),
    ),
    registered(
        "clones_the_result",
        "A copy of the result.",
        (
            "    operator = torch.library.custom_op(name, forward, mutates_args=())\n",
            "    schema = torch.library.infer_schema(forward, mutates_args=())\n"
            "    cloned = lambda *inputs: forward(*inputs).clone()\n"
            "    operator = torch.library.custom_op(name, cloned, mutates_args=(), schema=schema)\n",
        ),
        words=("copies inputs or the result",),
    ),
    registered(
        "cpu_kernel_alone",
        "An implementation for the CPU.",
        ("mutates_args=())", 'mutates_args=(), device_types="cpu")'),
        words=('no implementation for "cuda"',),
    ),
    registered("nothing_kept", "Keeps nothing.", ("ctx.save_for_backward(*inputs)", "pass")),
    registered(
        "other_order", "weight for x.", ("*ctx.saved_tensors)", "*ctx.saved_tensors[1::-1], *ctx.saved_tensors[2:])")
    ),
    registered(
        "passes_ctx", "backward with ctx.", ("lambda ctx, grad: backward(grad, *ctx.saved_tensors)", "backward")
    ),
    registered("ignores_grad", "As if L were y's sum.", ("backward(grad,", "backward(torch.ones_like(grad),")),
    registered(
        "asks_for_data",
        "Spares the GEMMs where there is nothing to do; a traced gradient has no data.",
        ("*ctx.saved_tensors),", "*ctx.saved_tensors) if grad.any() else (None, None, None),"),
        words=("fullgraph=True) fails",),
    ),
    registered(
        "as_attributes",
        "The inputs as an attribute of ctx.",
        ("ctx.save_for_backward(*inputs)", "ctx.inputs = inputs"),
        ("*ctx.saved_tensors", "*ctx.inputs"),
        words=("changed in place",),
    ),
    registered(
        "not_all_kept",
        "weight as an attribute of ctx.",
        ("ctx.save_for_backward(*inputs)", "ctx.save_for_backward(inputs[0], inputs[2]); ctx.weight = inputs[1]"),
        ("*ctx.saved_tensors", "ctx.saved_tensors[0], ctx.weight, ctx.saved_tensors[1]"),
        words=("changed in place",),
    ),
    registered("returns_nothing", "None.", ("\n    return operator", "")),
    registered("no_mutates_args", "custom_op wants it.", (", mutates_args=()", ""), words=("mutates_args",)),
]

# 16.14 GatedMLP -----------------------------------------------------------------------------------------------------

STACKED = "torch.stack((gate, up), 1).flatten(0, 2)"
MODULES = [
    gated("one_after_the_other", "gate stacked on up.", (STACKED, "torch.cat((gate, up)).flatten(0, 1)")),
    gated("up_first", "Up's piece first.", ("(gate, up), 1", "(up, gate), 1")),
    gated("narrow", "Width 4.", ("(-1, 8)", "(-1, 4)")),
    gated("single_rows", "Row by row.", ("(-1, 8)", "(-1, 1)")),
    gated("notebook_09s_width", "One piece of each.", ("(-1, 8)", "(1, -1)")),
    gated("a_tensor", "No parameter.", (f"nn.Parameter({STACKED})", STACKED), words=("no parameter",)),
    gated(
        "a_buffer",
        "A buffer: saved, and not trained.",
        (f"self.gate_up = nn.Parameter({STACKED})", f'self.register_buffer("gate_up", {STACKED})'),
        words=("no parameter",),
    ),
    gated(
        "in_each_call",
        "Interleaves in each forward pass.",
        (f"self.gate_up = nn.Parameter({STACKED})", "self.gate, self.up = map(nn.Parameter, (gate, up))"),
        ("self.gate_up))", "torch.stack((self.gate, self.up), 1).flatten(0, 2)))"),
        words=("no parameter",),
    ),
    gated(
        "keeps_plain",
        "The plain module stays in it.",
        (
            "self.gated_linear, self.down_proj = gated_linear, plain.down_proj",
            "self.gated_linear, self.plain = gated_linear, plain",
        ),
        ("self.down_proj(", "self.plain.down_proj("),
        words=("numbers in all",),
    ),
    gated(
        "keeps_a_list",
        "The old weights stay in a list, which no parameter's count shows.",
        (
            "gated_linear, plain.down_proj\n",
            "gated_linear, plain.down_proj\n        self.old = [plain.gate_proj, plain.up_proj]\n",
        ),
        words=("a second time",),
    ),
    gated(
        "keeps_memory",
        "The old weights' memory stays, under another tensor.",
        (
            "gated_linear, plain.down_proj\n",
            "gated_linear, plain.down_proj\n        self.old = plain.gate_proj.weight.detach()\n",
        ),
        words=("a second time",),
    ),
    gated(
        "keeps_a_copy",
        "A buffer with the first weights.",
        (
            "gated_linear, plain.down_proj\n",
            'gated_linear, plain.down_proj\n        self.register_buffer("first", self.gate_up.detach().clone())\n',
        ),
        words=("a second time",),
    ),
    gated(
        "down_twice",
        "Two products with down.",
        (
            "return self.down_proj(self.gated_linear(x, self.gate_up))",
            "y = self.gated_linear(x, self.gate_up)\n        return 0.5 * (self.down_proj(y) + self.down_proj(y))",
        ),
        words=("calls down 2 times",),
    ),
    gated("frozen", "Not trained.", (f"nn.Parameter({STACKED})", f"nn.Parameter({STACKED}, requires_grad=False)")),
    gated(
        "copies_down",
        "Another down.",
        (
            "gated_linear, plain.down_proj\n",
            "gated_linear, nn.Linear(*plain.down_proj.weight.shape[::-1], bias=False, dtype=gate.dtype)\n        self.down_proj.load_state_dict(plain.down_proj.state_dict())\n",
        ),
        words=("another tensor",),
    ),
    gated("in_fp32", "Another dtype.", (STACKED, STACKED + ".float()")),
    gated(
        "no_down",
        "Forgets down.",
        ("self.down_proj(self.gated_linear(x, self.gate_up))", "self.gated_linear(x, self.gate_up)"),
    ),
    gated(
        "twice",
        "Two calls.",
        ("return self", "self.gated_linear(x, self.gate_up)\n        return self"),
        words=("2 times",),
    ),
    gated(
        "clones_x",
        "The operator gets a copy.",
        ("self.gated_linear(x, ", "self.gated_linear(x.clone(), "),
        words=("forward copies",),
    ),
    gated(
        "clones_between",
        "down gets a copy.",
        ("self.gate_up))", "self.gate_up).clone())"),
        words=("forward copies",),
    ),
    gated(
        "without_gradients",
        "Nothing flows back through the operator.",
        (
            "return self.down_proj(self.gated_linear(x, self.gate_up))",
            "with torch.no_grad():\n            y = self.gated_linear(x, self.gate_up)\n        return self.down_proj(y)",
        ),
        words=("get no gradient",),
    ),
    gated(
        "cuts_x",
        "No gradient for the layer before.",
        ("self.gated_linear(x, ", "self.gated_linear(x.detach(), "),
        words=("get no gradient",),
    ),
    gated(
        "remembers",
        "Computes once, and returns that ever after.",
        (
            "        return self.down_proj(self.gated_linear(x, self.gate_up))",
            "        if not hasattr(self, 'y'):\n            self.y = self.down_proj(self.gated_linear(x, self.gate_up))\n        return self.y",
        ),
        words=("a second call",),
    ),
    gated(
        "three_modes",
        "Takes x for (batch, tokens, hidden).",
        (
            "return self.down_proj(self.gated_linear(x, self.gate_up))",
            "batch, tokens, _ = x.shape\n        y = self.gated_linear(x.flatten(0, 1), self.gate_up)\n"
            "        return self.down_proj(y).unflatten(0, (batch, tokens))",
        ),
        words=("raised ValueError",),
    ),
    gated(
        "empties_plain",
        "Frees the memory of plain's weights, which plain still uses.",
        (
            "gated_linear, plain.down_proj\n",
            "gated_linear, plain.down_proj\n        plain.gate_proj = plain.up_proj = None\n",
        ),
        words=("no longer computes",),
    ),
    gated(
        "on_the_cpu",
        "A parameter where the default is.",
        (
            f"nn.Parameter({STACKED})",
            f"nn.Parameter(torch.zeros(2 * gate.shape[0] * 8, gate.shape[-1], dtype=gate.dtype))\n"
            f"        if not gate.is_meta:\n            self.gate_up.data.copy_({STACKED})",
        ),
        words=("on another device",),
    ),
    gated("no_super", "Without nn.Module's own __init__.", ("        super().__init__()\n", "")),
    answer("a_function", "A function, no module.", lambda plain, gated_linear: lambda x: plain(x), "not an nn.Module"),
]

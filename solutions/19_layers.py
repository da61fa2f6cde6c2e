# ---
# jupyter:
#   tutorlib:
#     minutes: 70
#     summary: Kernels as operators that torch knows, with gradients and autocast; a Llama MLP and its training step.
# ---

# %% [markdown]
# # 19 · A layer in a model
#
# A kernel behind a Python function works until you call `backward()`, `torch.compile` or `autocast`. They need the
# gradient, the result's shape, and a dtype, respectively. Here notebook 18's SwiGLU becomes a layer of a Llama MLP that
# torch treats as its own.
#
# > **After this page you can** derive the gradients of a fused layer as GEMMs, make a kernel an operator of torch,
# > replace a model's linear layers without touching its code, and say what fusion costs in training.
# >
# > **It takes** about 70 minutes, on any machine: without a GPU, kernels are simulated. A Hopper GPU times your layer.

# %%
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional

from tutorlib import all_sweep_results, check, show_costs, show_shards
from tutorlib.notebook.fused_kernels import KernelLinear, LlamaMLP, linear, show_layer_speeds, with_gate

# %% [markdown]
# ## The backward: two more GEMMs
#
# First a linear layer alone: y = x · Wᵀ, so y_mn = Σ_k x_mk · w_nk. Autograd gives you grad_mn = ∂L/∂y_mn and needs
# ∂L/∂x and ∂L/∂w, both GEMMs. Over which index does each sum run?
#
# **Exercise 19.1** (about 5 lines). Write `linear_backward(grad, x, weight, gemm)`, which returns (∂L/∂x, ∂L/∂weight).
# x is (…, in) with two or more dimensions, weight (out, in), grad (…, out). `gemm(a, b)` is A · Bᵀ, like notebook 14's
# kernel: it sums over the *last* mode of both matrices, and raises an error if the rows of one are not contiguous. Call
# it twice; use torch only for views, and for the copies that `gemm` needs. Autograd may pass views as grad and x.


# %%
def linear_backward(grad, x, weight, gemm):
    ### BEGIN SOLUTION (about 5 lines)
    grads, rows = grad.flatten(0, -2), x.flatten(0, -2)  # (M, out), (M, in)
    dx = gemm(grads.contiguous(), weight.mT.contiguous())  # sums over out: B is (in, out)
    dw = gemm(grads.mT.contiguous(), rows.mT.contiguous())  # sums over M: (out, M) and (in, M)
    return dx.view(x.shape), dw
    ### END SOLUTION


# %%
check("19.1", linear_backward)

# %% [markdown]
# One operand of the first GEMM is transposed, and both of the second, so you copy three matrices. You also copy grad if
# its rows are not contiguous: the gradient of `y.sum()` is a single number, expanded. Notebook 15's kernel needs no
# copies, since wgmma takes MN-major bf16 operands. So the layer below passes it the transposed views.
#
# ## What fusion did not keep
#
# A Llama MLP is down(silu(gate(x)) · up(x)). Notebook 18 computes silu(gate(x)) · up(x) in one GEMM. Its B, `gate_up`,
# has 8 rows of gate, then the same 8 of up, and so on. The backward needs `both` = x · gate_upᵀ, but it existed only in
# registers. There are two ways to get it. Their costs at 4,096 tokens and 14,336 features:
#
# - The forward stores `both`, and the backward reads it: 56 µs each, and 235 MB a layer until the backward.
# - The backward computes x · gate_upᵀ again. That keeps nothing, and takes about 1.2 ms.
#
# **Exercise 19.2** (about 6 lines). Write `gate_gradient(grad, both)`: ∂L/∂both, a new tensor of both's shape and
# dtype. The last mode of both (…, 2 · features) has 8 elements of gate and 8 of up in turn; grad (…, features) is
# ∂L/∂(silu(gate) · up). silu(g) = g · s(g), where s is the sigmoid. Compute in fp32, in fp64 if both is fp64, and round
# once, at the end.


# %%
def gate_gradient(grad, both):
    ### BEGIN SOLUTION (about 6 lines)
    wide = torch.promote_types(both.dtype, torch.float32)
    gate, up = both.to(wide).unflatten(-1, (-1, 2, 8)).unbind(-2)  # (…, features / 8, 8)
    grad, sigmoid = grad.to(wide).unflatten(-1, (-1, 8)), gate.sigmoid()
    of_gate = grad * up * sigmoid * (1 + gate * (1 - sigmoid))
    of_up = grad * gate * sigmoid
    return torch.stack((of_gate, of_up), -2).flatten(-3).to(both.dtype)
    ### END SOLUTION


# %%
check("19.2", gate_gradient)

# %% [markdown]
# In eager torch each operation of yours is a kernel that reads and writes whole matrices, most of them fp32. On a GPU
# the page fuses them by `torch.compile`: at best, one kernel that reads grad and both and writes the result. With
# `dynamic=False` it compiles each size for itself.

# %%
compiled_gradient = torch.compile(gate_gradient, dynamic=False)


def of_both(grad, both):
    return (compiled_gradient if grad.is_cuda else gate_gradient)(grad, both)


# %% [markdown]
# ## The registration
#
# When torch.compile traces a model, tensors have shapes and no data; sizes may be symbols, `s0` instead of 5. An
# operator's **fake** returns a tensor with the result's shape, dtype and device, without reading data.
#
# The kernel and the facts about it make an **operator**, a **custom op**:
#
# | caller | you register | which is |
# |---|---|---|
# | eager mode | `custom_op(name, forward, mutates_args=())` | the function itself, which launches the kernel |
# | `torch.compile`, `torch.export` | `register_fake(fake)` | the result without data |
# | autograd | `register_autograd(backward, setup_context=keep)` | the backward, and what to keep for it |
# | `autocast` | `register_autocast(device, dtype)` | the inputs' dtype, whichever autocast asks for |
# | `torch.cuda.graph` | nothing | but the launch must use the current stream and must not synchronize |
#
# `custom_op` needs annotations of forward's arguments and result; the result may not be a view of an input. A colleague
# registers a function that, like a kernel, reads its input's data:


# %%
def broken_register(name, forward, fake, backward):
    operator = torch.library.custom_op(name, forward, mutates_args=())
    operator.register_fake(forward)
    operator.register_autograd(backward)
    operator.register_autocast("cuda", torch.bfloat16)
    return operator


def doubled(x: Tensor) -> Tensor:
    return torch.from_numpy(2 * x.detach().float().numpy()).to(x.dtype)


broken = broken_register("page19::broken", doubled, torch.empty_like, lambda grad, x: 2 * grad)
ones = torch.ones(2, requires_grad=True)
for caller, call in {
    "eager mode": lambda: broken(ones.detach()),
    "without data": lambda: broken(torch.ones(2, device="meta")),
    "autograd": lambda: broken(ones).sum().backward(),
}.items():
    try:
        print(f"{caller}: {call()}")
    except Exception as error:
        print(f"{caller}: {error}")
with torch.autocast("cpu", torch.bfloat16):
    print("autocast:", broken(ones.detach()).dtype)

# %% [markdown]
# **Exercise 19.3** (about 8 lines). The registration has four faults, and one of them would show only after another is
# mended. Write `register`, so that all of the table's callers get what they need, on CPUs and on GPUs. `forward` and
# `fake` take the operator's inputs, all of them tensors; `backward` takes (grad, *inputs) and returns their gradients.
# torch calls the function that you register as backward with (ctx, grad) alone. Before that, after forward, it calls
# `setup_context` with the keywords ctx, inputs and output; `ctx.save_for_backward(*tensors)` and `ctx.saved_tensors`
# carry tensors from one to the other.


# %%
def register(name, forward, fake, backward):
    ### BEGIN SOLUTION (about 8 lines)
    operator = torch.library.custom_op(name, forward, mutates_args=())
    operator.register_fake(fake)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    operator.register_autograd(lambda ctx, grad: backward(grad, *ctx.saved_tensors), setup_context=keep)
    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.bfloat16)
    return operator
    ### END SOLUTION


# %%
check("19.3", register)

# %% [markdown]
# The four: a fake that reads data; a backward with other parameters than (ctx, grad); nothing saved for it; no autocast
# rule for the CPU.
#
# Now register the gated layer. `with_gate()` is a function of torch tensors around the gated GEMM; your own from
# notebook 18 goes in as `with_gate(gated)`. In bf16 a Hopper GPU runs it in notebook 15's kernel, on the current
# stream; the CPU simulates it in notebook 10's. For other dtypes, torch computes. The backward has your two GEMMs,
# without copies. It calls `linear`, the course's operator for A · Bᵀ, because torch.compile must trace the backward,
# too.

# %%
gate_kernel = with_gate()


def forward(x: Tensor, gate_up: Tensor) -> Tensor:
    return gate_kernel(x.reshape(-1, x.shape[-1]), gate_up).view(*x.shape[:-1], gate_up.shape[0] // 2)


def fake(x, gate_up):
    return x.new_empty(*x.shape[:-1], gate_up.shape[0] // 2)


def backward(grad, x, gate_up):
    of_product = of_both(grad, linear(x, gate_up))
    return linear(of_product, gate_up.mT), linear(of_product.flatten(0, -2).mT, x.flatten(0, -2).mT)


gated_linear = register("page19::gated_linear", forward, fake, backward)

# %% [markdown]
# `torch.library.opcheck` tests whether the fake agrees with the real result, and whether forward and backward can be
# traced with symbolic sizes. `gradcheck` compares the backward with finite differences. Their inputs are fp32 and fp64,
# for which torch computes: they test the registration, not the kernel.

# %%
torch.manual_seed(10)
x, gate_up = (torch.randn(shape, requires_grad=True) for shape in ((2, 3, 8), (32, 8)))
for question, verdict in torch.library.opcheck(gated_linear, (x, gate_up)).items():
    print(f"{question}: {verdict}")
wide = [tensor.detach().double().requires_grad_() for tensor in (x, gate_up)]
print("gradcheck:", torch.autograd.gradcheck(gated_linear, wide))

# %% [markdown]
# ## Into any model
#
# `KernelLinear` is a subclass of nn.Linear with the same parameters, whose forward calls `linear`.
#
# **Exercise 19.4** (about 4 lines). Write `use_kernels(module)`: every nn.Linear becomes a KernelLinear, whether it is
# the module itself or below it at any depth. Return the module. An optimizer that already holds the parameters, a hook
# on a layer, and a second name for a layer go on working. Subclasses of nn.Linear stay what they are.


# %%
def use_kernels(module):
    ### BEGIN SOLUTION (about 4 lines)
    for layer in module.modules():
        if type(layer) is nn.Linear:
            layer.__class__ = KernelLinear
    return module
    ### END SOLUTION


# %%
check("19.4", use_kernels)

# %% [markdown]
# ## A Llama MLP
#
# The gated MLP replaces the module. It interleaves the weights once, when it is made, so a state dict of the plain MLP
# no longer fits: the parameters are gate_up and those of down_proj.


# %%
class GatedMLP(nn.Module):
    def __init__(self, plain, gated_linear):
        super().__init__()
        gate, up = (layer.weight.detach().unflatten(0, (-1, 8)) for layer in (plain.gate_proj, plain.up_proj))
        self.gate_up = nn.Parameter(torch.stack((gate, up), 1).flatten(0, 2))
        self.gated_linear, self.down_proj = gated_linear, plain.down_proj

    def forward(self, x):
        return self.down_proj(self.gated_linear(x, self.gate_up))


# %% [markdown]
# The next cell compares a plain MLP, one swapped by your `use_kernels`, and your `GatedMLP`. A *graph break* is a place
# where torch.compile has to go back to Python.

# %%
torch.manual_seed(16)
plain = LlamaMLP(64, 192)
x = torch.randn(8, 64)
expected = plain(x)
modules = {"plain": plain, "swapped": use_kernels(deepcopy(plain)), "gated": GatedMLP(deepcopy(plain), gated_linear)}
for name, module in modules.items():
    off = (module(x) - expected).abs().max().item()
    print(
        f"{name:8} graph breaks {torch._dynamo.explain(module)(x).graph_break_count}, fp32: off by {off:.0e}", end=", "
    )
    with torch.autocast("cpu", torch.bfloat16):
        off = (module(x) - expected).abs().max().item()
    print(f"bf16: off by {off:.1e} of {float(expected.abs().max()):.2f}")

# %% [markdown]
# In fp32, torch computes all three, and under autocast the first two. There the gated one runs its kernel, in the
# simulator, and rounds once where torch rounds gate, silu, up and the product.
#
# ## What it gains
#
# The table has Llama 3 8B's MLP in bf16. *Two GEMMs, the first gated* computes what your `GatedMLP` does, both GEMMs in
# the course's kernels. How large can the gain be? Three GEMMs of 4,096 tokens take about 1.8 ms. The two kernels for
# silu and the product, which gating saves, read and write 587 MB.

# %%
show_costs("mlp_forward")

# %% [markdown]
# Swapping nn.Linear gains 2 to 3%. The gated MLP is 11% faster than eager torch, and 7 to 8% faster than torch.compile,
# whose kernel of silu and the product still reads gate(x) and up(x). At 4,096 tokens it saves 143 µs over *nn.Linear
# swapped*; 587 MB take 140 µs at 4.2 TB/s.
#
# ## In training, memory counts, too
#
# To keep `both`, the GEMM is a plain `linear`, and the activation is an operator of its own.
# `register` saves its input, and your gradient is its backward.


# %%
def activate(both: Tensor) -> Tensor:
    gate, up = both.float().unflatten(-1, (-1, 2, 8)).unbind(-2)
    return (functional.silu(gate) * up).flatten(-2).to(both.dtype)


compiled_activate = torch.compile(activate, dynamic=False)


def activation(both: Tensor) -> Tensor:
    return (compiled_activate if both.is_cuda else activate)(both)


def half(both):
    return both.new_empty(*both.shape[:-1], both.shape[-1] // 2)


keeping = register("page19::activation", activation, half, of_both)


class KeepingMLP(GatedMLP):
    def forward(self, x):
        return self.down_proj(keeping(linear(x, self.gate_up)))


# %% [markdown]
# **Predict**: which matrices does torch keep for the plain MLP's backward? The next cell counts bytes per token on the
# device `meta`, whose tensors have no data, so it calls your operators' fakes.

# %%
with torch.device("meta"):
    plain, token = LlamaMLP(4096, 14336, dtype=torch.bfloat16), torch.empty(1, 4096, dtype=torch.bfloat16)
kept = {}
hooks = torch.autograd.graph.saved_tensors_hooks(lambda saved: kept.setdefault(id(saved), saved), lambda saved: saved)
modules = {"plain": plain, "recomputes both": GatedMLP(plain, gated_linear), "keeps both": KeepingMLP(plain, None)}
for name, module in modules.items():
    kept.clear()
    with hooks:
        y = module(token)
    of_token = sum(saved.nbytes for saved in kept.values() if len(saved) == 1)  # others are weights
    print(f"{name:15} {of_token:7,} bytes a token, {4096 * of_token / 1e6:.0f} MB at 4,096 tokens")

# %% [markdown]
# The plain one keeps x, gate(x), silu(gate(x)), up(x) and the product.
#
# A GEMM of one of the three weights takes about 600 µs, forward or backward. A matrix of 4,096
# × 14,336 has 117 MB, 28 µs to read or write at 4.2 TB/s. torch's kernels for silu and for the product, h, make 5 such
# passes forward and 9 backward. Another adds gate's and up's shares of ∂L/∂x in 24 µs. Your gradient makes 5 passes.
# The next cell adds up these estimates; its Triton gradient replaces torch's in the last three columns:


# %%
def on_h200(sweep):
    (swept,) = (swept for swept in all_sweep_results(sweep) if swept.gpu == "NVIDIA H200")
    return {point.name: point.measurement for point in swept.points if point.measurement.shape[0] == 4096}


GEMM, PASS, SUM = 600, 28, 24  # µs
parts, steps = on_h200("mlp_parts"), on_h200("mlp_training")
rows = {  # estimates: torch's MLP, the one that recomputes both, the one that keeps it
    "forward": (3 * GEMM + 5 * PASS, 3 * GEMM, 3 * GEMM + 3 * PASS),
    "∂L/∂h = ∂L/∂y · down": (GEMM, GEMM, GEMM),
    "∂L/∂down = (∂L/∂y)ᵀ · h": (GEMM, GEMM, GEMM),
    "both = x · gate_upᵀ": (0, 2 * GEMM, 0),
    "∂L/∂both, in Triton": (9 * PASS, 5 * PASS, 5 * PASS),
    "∂L/∂x = ∂L/∂both · gate_up": (2 * GEMM + SUM, 2 * GEMM, 2 * GEMM),
    "∂L/∂gate_up = (∂L/∂both)ᵀ · x": (2 * GEMM, 2 * GEMM, 2 * GEMM),
}
print(f"{'µs':32}{'torch':>10}{'recomputes':>12}{'keeps':>10}{'a part, measured':>20}")
for name, found in rows.items():
    measured = f"{parts[name].median_us:20,.0f}" if name in parts else ""
    print(f"{name:32}" + "{:10,}{:12,}{:10,}".format(*found) + measured)
print(f"{'together':32}" + "{:10,}{:12,}{:10,}".format(*map(sum, zip(*rows.values(), strict=True))))
recomputed, stored = (steps[f"{name}; ∂L/∂both in Triton"] for name in ("two GEMMs, the first gated", "both kept"))
print(f"{'a step, measured':32}{stored.baseline_us:10,.0f}{recomputed.median_us:12,.0f}{stored.median_us:10,.0f}")

# %% [markdown]
# All take about what was estimated. In the Triton kernel every load has 16 bytes:
#
# <details><summary>The kernel</summary>
#
# ```python
# @triton.jit
# def kernel(grad, both, out, pieces, BLOCK: tl.constexpr):
#     piece = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[:, None]
#     lane, inside = tl.arange(0, 8)[None, :], piece < pieces
#     g = tl.load(both + piece * 16 + lane, inside).to(tl.float32)
#     u = tl.load(both + piece * 16 + 8 + lane, inside).to(tl.float32)
#     d = tl.load(grad + piece * 8 + lane, inside).to(tl.float32)
#     s = tl.sigmoid(g)
#     tl.store(out + piece * 16 + lane, (d * u * s * (1 + g * (1 - s))).to(tl.bfloat16), inside)
#     tl.store(out + piece * 16 + 8 + lane, (d * g * s).to(tl.bfloat16), inside)
# ```
#
# </details>
#
# torch.compile finds such loads if the pieces of 8 stay a mode of their own. With gate and up flattened first, most of
# its loads have two bytes, and the gradient takes 551 µs. Now the two modules with your gradient, first the one that
# recomputes `both`:

# %%
for make in (lambda plain: GatedMLP(plain, gated_linear)), (lambda plain: KeepingMLP(plain, None)):
    show_layer_speeds(make)

# %% [markdown]
# Speed beside eager torch's, on an H200, in several sessions (in brackets: your gradient):
#
# | | forward | step | MB kept a layer |
# |---|---|---|---|
# | torch.compile | 1.03 | 1.03 | not counted |
# | recomputes `both` | 1.11 | 0.88 (0.87) | 151 |
# | keeps `both` | 1.05 | 1.05 (1.04) | 386 |
#
# Keeping `both` leads torch.compile by 1 to 2% of a step. Recomputing pays only where you need the 235 MB a layer.
#
# ## Two GPUs, two all-reduces
#
# Split the MLP's weights over GPUs (*ranks*), each of which computes a share for all tokens. An **all-reduce** adds the
# ranks' matrices, here (tokens, hidden), and gives every rank the sum. Which mode of gate and up, and which of down, do
# you split, so that the forward needs only one? (silu(a + b) is not silu(a) + silu(b).)

# %%
show_shards(2)

# %% [markdown]
# The activation works feature by feature, so a rank needs the same features of gate and up, rows of both. down *sums*
# over features, so a rank has the same columns of down: each rank sums over its own features, and the all-reduce (Σ)
# adds the ranks. The backward needs one, too: each rank has only its features' share of ∂L/∂x.
#
# ## What to remember
#
# - The gradients of a linear layer are two GEMMs, with transposed operands.
# - What fusion does not store, the backward must compute again. Here the MLP's forward is 11% faster than eager
#   torch's. In training, recomputing `both` saves 235 MB a layer compared with keeping it, and adds a fifth to the
#   step.
# - A kernel becomes a layer once you register a fake, a backward made of operators, and an autocast dtype.
# - Split an MLP by features: one all-reduce in the forward, one in the backward.
#
# Next: [notebook 20](20_compile_once.ipynb) asks what a launch costs, and how to pay for compiling once.
#
# ## Test yourself
#
# <details><summary>1. Your fake returns a <code>torch.empty</code> with the right shape and dtype, but always on the
# CPU. Which of the table's callers can notice, and when?</summary>
#
# Only torch.compile and torch.export, for tensors on a GPU: they fail at the first operator that combines the result
# with a tensor on the GPU. The others never call the fake. opcheck on the CPU cannot find it.
#
# </details>
#
# <details><summary>2. Instead of <code>save_for_backward</code>, a <code>keep</code> writes <code>ctx.inputs =
# inputs</code>. The weight is then changed in place before the backward runs. What happens, with each of the
# two?</summary>
#
# A saved tensor remembers its version, and the backward raises an error. The attribute is just a reference, so the
# backward silently uses the new numbers.
#
# </details>
#
# <details><summary>3. Your gate_gradient is a kernel of its own. Where could it be fused?</summary>
#
# Into the epilogue of the GEMM that computes <code>both</code> again: grad is its operand, like the residual's D.
#
# </details>

# ---
# jupyter:
#   tutorlib:
#     minutes: 85
#     summary: Kernels as operators that torch knows, with gradients and autocast, in a Llama MLP and over two GPUs.
# ---

# %% [markdown]
# # 19 · A layer in a model
#
# A kernel behind a Python function works until you call `backward()`, `torch.compile` or `autocast`: each needs facts
# about it. Here notebook 18's epilogues become layers of a Llama MLP that torch treats as its own.
#
# > **After this page you can** derive the gradients of a fused layer as GEMMs, make a kernel an operator of
# > torch, put it into a model without touching the model's code, and split an MLP's weights so that its GPUs need one
# > all-reduce.
# >
# > **It takes** about 85 minutes, on any machine: without a GPU, kernels are simulated. A Hopper GPU times your layer.

# %%
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional

from tutorlib import check, show_costs, show_shards
from tutorlib.notebook.fused_kernels import (
    KernelLinear, LlamaMLP, linear, show_layer_speeds, with_epilogue, with_gate,
)  # fmt: skip

# %% [markdown]
# ## The backward: two more GEMMs
#
# First a linear layer alone: y = x · Wᵀ, so y_mn = Σ_k x_mk · w_nk. Autograd gives you grad_mn = ∂L/∂y_mn and needs
# ∂L/∂x and ∂L/∂w, both GEMMs. Over which index does each sum run?
#
# **Exercise 19.1** (about 5 lines). Write `linear_backward(grad, x, weight, gemm)`, which returns (∂L/∂x, ∂L/∂weight).
# x is (…, in) with two or more dimensions, weight (out, in), grad (…, out). `gemm(a, b)` is A · Bᵀ, like notebook 14's
# kernel: it sums over the *last* mode of both matrices, and raises an error if the rows of one are not contiguous. Call
# it twice; use torch only for views, and for the copies that `gemm` needs. grad and x may be views with any strides:
# the gradient of `y.sum()` is a single number, expanded.


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
# One operand of the first GEMM is transposed, and both of the second. The copies cost time: copying a weight of 14,336
# × 4,096, 117 MB, reads and writes 235 MB, 56 µs at notebook 05's 4.2 TB/s. Notebook 15's kernel needs none, since
# wgmma takes MN-major bf16 operands; the course's backward passes `weight.mT` itself.
#
# ## What fusion did not keep
#
# Now y = gelu(z), where z = x · Wᵀ + bias. By the chain rule ∂L/∂z = grad · gelu′(z), and from z down it is the linear
# layer again. But z existed only in registers. Two ways get it back, here at 4,096 tokens and 14,336 features:
#
# - The kernel stores z along with y, and the backward reads it. That takes 56 µs, and 117 MB a layer until the
#   backward.
# - The backward computes x · Wᵀ again, a third GEMM. That keeps nothing, and takes about 600 µs with K = 4,096.
#
# Here you compute it again, to save memory. **Predict**: for which K could it also be faster?
#
# **Exercise 19.2** (about 7 lines). Write `linear_gelu_backward(grad, x, weight, bias, gemm)`: the gradients of x,
# weight and bias (out,) as a tuple. GELU has its tanh form, x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), and tanh′ =
# 1 − tanh². As in 19.1, use `gemm`, here three times, and expect any strides of grad and x. Tensors are fp64 or bf16,
# and `gemm` takes operands of one dtype. In bf16, compute the elementwise part in fp32: the check allows half the error
# of doing it in bf16. (In fp64, notebook 18's seven digits of √(2/π) are too few.) Your gelu′ must stay finite at large
# |z|.


# %%
def linear_gelu_backward(grad, x, weight, bias, gemm):
    ### BEGIN SOLUTION (about 7 lines)
    wide = torch.promote_types(x.dtype, torch.float32)
    z = gemm(x.flatten(0, -2).contiguous(), weight).view(grad.shape).to(wide) + bias
    tanh = torch.tanh(0.7978845608028654 * (z + 0.044715 * z**3))
    inner = 0.7978845608028654 * (1 + 3 * 0.044715 * z**2)  # the derivative of tanh's argument
    dz = (grad * (0.5 * (1 + tanh) + 0.5 * z * (1 - tanh**2) * inner)).to(x.dtype)
    return *linear_backward(dz, x, weight, gemm), dz.flatten(0, -2).sum(0)
    ### END SOLUTION


# %%
check("19.2", linear_gelu_backward)

# %% [markdown]
# If a GEMM's time is proportional to K, it is 56 µs at K = 4,096 · 56 / 600, about 380. But `gemm` writes z, too, and
# torch reads it: 56 µs again. So for no K, unless the GEMM's epilogue applies gelu′.
#
# ## The fake: what is known without data
#
# When torch.compile traces a model, tensors have shapes and no data; sizes may be symbols, `s0` instead of 5. A
# function that states the shape, dtype and device of an operator's result is its **fake**. It must not read data. If it
# asks for a size's *value*, as `len`, `int` and comparisons do, torch recompiles for each new size.


# %%
def linear_fake(x, weight):
    return x.new_empty(*x.shape[:-1], weight.shape[0])


# %% [markdown]
# ## The registration
#
# The kernel and the facts about it make an **operator**, a **custom op**:
#
# | caller | you register | which is |
# |---|---|---|
# | eager mode | `custom_op(name, forward, mutates_args=())` | the function itself, which launches the kernel |
# | `torch.compile`, `torch.export` | `register_fake(fake)` | the result without data |
# | autograd | `register_autograd(backward, setup_context=keep)` | the backward; before it `keep(ctx, inputs, output)` |
# | `autocast` | `register_autocast(device, dtype)` | the dtype to cast to, for one device type |
# | `torch.cuda.graph` | nothing | but the launch must use the current stream and must not synchronize |
#
# `custom_op` needs annotations of forward's arguments and result, which may not be a view of an input. A colleague
# registers a function that needs data, as a kernel does:


# %%
def broken_register(name, forward, fake, backward):
    operator = torch.library.custom_op(name, forward, mutates_args=())
    operator.register_fake(forward)
    operator.register_autograd(backward)
    operator.register_autocast("cuda", torch.bfloat16)
    return operator


def doubled(x: Tensor) -> Tensor:
    return torch.from_numpy(2 * x.detach().float().numpy())


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
# mended. Write `register`, so that eager mode, `torch.compile`, autograd and `autocast` get what they need. `forward`
# and `fake` take the operator's inputs, all of them tensors; `backward` takes (grad, *inputs) and returns their
# gradients. torch calls what you register as backward with (ctx, grad) alone, and `setup_context` with the keywords
# ctx, inputs and output: `ctx.save_for_backward(*tensors)` keeps tensors, `ctx.saved_tensors` has them. Under autocast
# the operator casts to bf16, on the CPU and on CUDA devices.


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
# Now register the fused kernel. `with_epilogue()` is a function of torch tensors around a GEMM with bias and GELU; your
# own from notebook 18 goes in as `with_epilogue(bias_gelu)`. In bf16 a Hopper GPU runs it in notebook 15's kernel, on
# the current stream; the CPU simulates it in notebook 10's. For other dtypes, torch computes. The backward calls
# `linear`, the course's operator for A · Bᵀ, since torch.compile traces it without data, too.

# %%
gelu_kernel = with_epilogue()


def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    rows = x.reshape(-1, x.shape[-1])
    return gelu_kernel(rows, weight, bias).view(*x.shape[:-1], weight.shape[0])


def fake(x, weight, bias):
    return linear_fake(x, weight)


def backward(grad, x, weight, bias):
    return linear_gelu_backward(grad, x, weight, bias, linear)


linear_gelu = register("page19::linear_gelu", forward, fake, backward)

# %% [markdown]
# `torch.library.opcheck` tests whether the fake agrees with the real result, and whether forward and backward can be
# traced with symbolic sizes. `gradcheck` compares the backward with finite differences, `gradgradcheck` its derivative.

# %%
torch.manual_seed(10)
x, weight, bias = (torch.randn(shape, requires_grad=True) for shape in ((2, 3, 8), (16, 8), (16,)))
for question, verdict in torch.library.opcheck(linear_gelu, (x, weight, bias)).items():
    print(f"{question}: {verdict}")
wide = [tensor.detach().double().requires_grad_() for tensor in (x, weight, bias)]
print("first derivatives: ", torch.autograd.gradcheck(linear_gelu, wide))
print("second derivatives:", torch.autograd.gradgradcheck(linear_gelu, wide))

# %% [markdown]
# The next cell traces the operator and its backward as torch.compile does; `aot_eager` then runs the graph as it is.
# `fullgraph=True` raises an error where torch would have to go back to Python (a *graph break*). Then autocast converts
# fp32 to bf16, so the kernel's epilogue runs, in the simulator.


# %%
def by_torch(x, weight, bias):
    return functional.gelu(functional.linear(x, weight, bias), approximate="tanh")


def loss_of(layer):
    return lambda *tensors: layer(*tensors).square().mean()


compiled = torch.compile(loss_of(linear_gelu), fullgraph=True, backend="aot_eager")
mine, theirs = (torch.autograd.grad(loss(x, weight, bias), weight)[0] for loss in (compiled, loss_of(by_torch)))
print(f"compiled, weight's gradient: off by {float((mine - theirs).abs().max()):.1e}")
with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
    mine, theirs = linear_gelu(x, weight, bias), functional.linear(x, weight, bias)
    exact = by_torch(*(tensor.double() for tensor in (x, weight, bias)))
print(f"under autocast: {mine.dtype}, and nn.Linear {theirs.dtype}")
print(f"the epilogue in bf16: off by {float((mine - exact).abs().max()):.1e} of {float(exact.abs().max()):.2f}")

# %% [markdown]
# The compiled gradient and torch's differ only by rounding. Between 4 and 8, bf16 numbers are 2⁻⁵ apart, so rounding
# the result alone costs up to 2⁻⁶ = 1.6e-02.
#
# ## Into any model
#
# A model has hundreds of nn.Linear modules. `KernelLinear` is a subclass with the same parameters, whose forward calls
# `linear`.
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
# Only `forward` differs, and Python finds it in the object's class. Where the kernel cannot run, torch computes, with a
# warning.
#
# ## A Llama MLP
#
# The fused Llama MLP, down(silu(gate(x)) · up(x)), needs a second operator: `gated_linear(x, gate_up)` is silu(gate(x))
# · up(x), where `gate_up` is stored for Hopper: 8 rows of gate, then the same 8 of up, and so on. Its backward also
# recomputes both = x · gate_upᵀ, and from ∂L/∂both calls your `linear_backward`.
#
# **Exercise 19.5** (about 6 lines). Write `gate_gradient(grad, both)`: ∂L/∂both, a new tensor of both's shape and
# dtype. The last mode of both (…, 2 · features) has 8 elements of gate and 8 of up in turn; grad (…, features) is
# ∂L/∂(silu(gate) · up). Compute in fp32 or wider, and round once. What is silu′ for silu(g) = g · s(g), with the
# sigmoid s and s′ = s · (1 − s)? (`unflatten(-1, (…))` splits a mode, `flatten` merges modes, `torch.stack(tensors,
# dim)` makes one.)


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
check("19.5", gate_gradient)

# %% [markdown]
# In eager torch each operation of yours is a kernel that reads and writes whole matrices, most of them fp32.
# `torch.compile` makes one kernel of them, which reads grad and both and writes the result. On a GPU the page uses it:

# %%
compiled_gradient = torch.compile(gate_gradient, dynamic=True)


def of_both(grad, both):
    return (compiled_gradient if grad.is_cuda else gate_gradient)(grad, both)


# %%
gate_kernel = with_gate()


def gated_forward(x: Tensor, gate_up: Tensor) -> Tensor:
    return gate_kernel(x.reshape(-1, x.shape[-1]), gate_up).view(*x.shape[:-1], gate_up.shape[0] // 2)


def gated_fake(x, gate_up):
    return x.new_empty(*x.shape[:-1], gate_up.shape[0] // 2)


def gated_backward(grad, x, gate_up):
    return linear_backward(of_both(grad, linear(x, gate_up)), x, gate_up, linear)


gated_linear = register("page19::gated_linear", gated_forward, gated_fake, gated_backward)
wide = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 4), (32, 4))]
print("gated, first derivatives:", torch.autograd.gradcheck(gated_linear, wide))

# %% [markdown]
# The module interleaves the weights once, when it is made. Its parameters are gate_up and those of down_proj:


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
# The next cell compares a plain MLP, one swapped by your `use_kernels`, and your `GatedMLP`. **Predict**: does the
# gated one lose more digits in bf16 than torch?

# %%
torch.manual_seed(16)
plain = LlamaMLP(64, 192)
x = torch.randn(8, 64)
expected = plain(x)
modules = {"plain": plain, "swapped": use_kernels(deepcopy(plain)), "gated": GatedMLP(deepcopy(plain), gated_linear)}
for name, module in modules.items():
    off = float((module(x) - expected).abs().max())
    print(
        f"{name:8} graph breaks {torch._dynamo.explain(module)(x).graph_break_count}, fp32: off by {off:.0e}", end=", "
    )
    with torch.autocast("cpu", torch.bfloat16):
        off = float((module(x) - expected).abs().max())
    print(f"bf16: off by {off:.1e} of {float(expected.abs().max()):.2f}")

# %% [markdown]
# In fp32, torch computes all three. Under autocast the gated one runs its kernel, in the simulator, and rounds once
# where torch rounds gate, silu, up and the product.
#
# ### What it gains
#
# The table has Llama 3 8B's MLP in bf16; *two GEMMs, the first gated* is your `GatedMLP`, with the course's kernels.
# How large can the gain be? Three GEMMs of 4,096 tokens take about 1.8 ms. The two kernels for silu and the product,
# which gating saves, read and write 587 MB.

# %%
show_costs("mlp_forward")

# %% [markdown]
# Swapping nn.Linear gains 2 to 3%. The gated MLP is 11% faster than torch, and 7 to 8% faster than torch.compile, whose
# kernel of silu and the product still reads gate(x) and up(x). At 4,096 tokens it saves 143 µs over *nn.Linear
# swapped*, as estimated: 587 MB take 140 µs at 4.2 TB/s.
#
# In training, memory counts, too. **Predict**: which matrices does torch keep for the plain MLP's backward? The next
# cell counts bytes per token on the device `meta`, whose tensors have no data, so it calls your operator's fake.

# %%
with torch.device("meta"):
    plain, token = LlamaMLP(4096, 14336, dtype=torch.bfloat16), torch.empty(1, 4096, dtype=torch.bfloat16)
kept = {}
hooks = torch.autograd.graph.saved_tensors_hooks(lambda saved: kept.setdefault(id(saved), saved), lambda saved: saved)
for name, module in {"plain": plain, "gated": GatedMLP(plain, gated_linear)}.items():
    kept.clear()
    with hooks:
        y = module(token)
    of_token = sum(saved.nbytes for saved in kept.values() if len(saved) == 1)  # others are weights
    print(f"{name}: {of_token:,} bytes a token, {4096 * of_token / 1e6:.0f} MB at 4,096 tokens")

# %% [markdown]
# The plain one keeps x, gate(x), silu(gate(x)), up(x) and the product; the gated one x and the product, 352 MB a layer
# less. Its backward computes gate(x) and up(x) again, so a step has eleven GEMMs in place of nine, at 0.6 ms each, but
# not torch's backward of silu and the product, some 0.25 ms. Expect about 1 ms more than torch's 5.8. Measured:

# %%
show_costs("mlp_training")

# %%
show_layer_speeds(lambda plain: GatedMLP(plain, gated_linear))

# %% [markdown]
# With the gradient *in eager torch* the gated MLP takes 3.3 ms more than torch: the gradient's 16 operations read and
# write 8.8 GB, 2.1 ms at 4.2 TB/s. As one kernel it reads and writes 587 MB, 0.14 ms. That makes the step 1.4 ms
# shorter, not 2.0, and it is 1.8 ms longer than torch's. We have not timed that kernel alone.
#
# On an H200 your step takes 1.3 ms more than *two GEMMs, the first gated*. Your `linear_backward` copies transposed
# operands, which moves 1.0 GB, at least 0.24 ms of that.
#
# A gated MLP pays in training only where you need its 352 MB a layer. Recomputing only silu and the product saves 235
# MB without a GEMM.
#
# ## Two GPUs, one all-reduce
#
# Split the MLP's weights over GPUs (*ranks*), each of which computes a share for all tokens. An **all-reduce** adds the
# ranks' matrices, here (tokens, hidden), and gives every rank the sum. One is enough, after down. Which mode of gate
# and up, and which of down, do you split? (silu(a + b) is not silu(a) + silu(b).)
#
# **Exercise 19.6** (about 6 lines). Write `shard(gate, up, down, rank, world)`, which returns the part of the three
# weights that `rank` holds, of `world` ranks; rank 0 has the first part. gate and up are (features, hidden), down is
# (hidden, features). Return new, contiguous tensors: a view would keep the whole weight in memory. If `world`
# does not divide the features, raise a ValueError.


# %%
def shard(gate, up, down, rank, world):
    ### BEGIN SOLUTION (about 6 lines)
    features = gate.shape[0]
    if features % world:
        raise ValueError(f"{features} features do not divide among {world} ranks")
    part = features // world
    mine = slice(rank * part, (rank + 1) * part)
    return gate[mine].clone(), up[mine].clone(), down[:, mine].clone(memory_format=torch.contiguous_format)
    ### END SOLUTION


# %%
check("19.6", shard)

# %% [markdown]
# The activation works feature by feature, so a rank needs the same features of gate and up. down *sums* over features:
# ranks 0 and 1 each sum over their own, and the all-reduce (Σ) adds the two:

# %%
show_shards(2)

# %% [markdown]
# The next cell plays two ranks on one machine, then estimates the time of 4,096 tokens on several GPUs, if GEMMs scale
# perfectly. In a ring, a rank sends 2 · (world − 1) / world of the matrix, by NVLink at 450 GB/s (half of the H200
# datasheet's 900, both ways), or by a network card of 400 Gbit/s.

# %%
mlp, x = LlamaMLP(64, 192).requires_grad_(False), torch.randn(8, 64)
weights = [layer.weight for layer in (mlp.gate_proj, mlp.up_proj, mlp.down_proj)]
shares = [(functional.silu(x @ g.mT) * (x @ u.mT)) @ d.mT for g, u, d in (shard(*weights, rank, 2) for rank in (0, 1))]
print(f"largest difference: {float((sum(shares) - mlp(x)).abs().max()):.0e} of {float(mlp(x).abs().max()):.2f}")
one_gpu, matrix = 1758, 2 * 4096 * 4096  # µs of the table's gated MLP, bytes
for world in (2, 4, 8):
    sent = 2 * (world - 1) / world * matrix
    nvlink, network = (sent / bandwidth * 1e6 for bandwidth in (450e9, 50e9))
    print(f"{world} GPUs: GEMMs {one_gpu / world:.0f} µs, all-reduce {nvlink:.0f} µs by NVLink", end=", ")
    print(f"{network:.0f} by network: {one_gpu / (one_gpu / world + nvlink):.1f} and", end=" ")
    print(f"{one_gpu / (one_gpu / world + network):.1f} times as fast as one")

# %% [markdown]
# With more ranks the GEMMs shrink and the all-reduce grows, so such a split stays within a node. In the backward every
# rank computes one term of x's gradient: one all-reduce again.
#
# ## What to remember
#
# - The gradients of a linear layer are two GEMMs, with transposed operands.
# - If fusion does not store an intermediate result, the backward must compute it again. Here the MLP's forward is 11%
#   faster, and training saves 352 MB a layer at 0.76 of torch's speed, without the copies.
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
# <details><summary>3. The elementwise part of GELU's backward, grad · gelu′(z), runs in kernels of its own. Where could
# it be fused?</summary>
#
# Into the epilogue of the GEMM that computes z again: grad is its operand, fetched like the residual's D.
#
# </details>

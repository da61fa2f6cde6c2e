"""The sweeps of attention."""

from math import prod

from tutorlib.instruments.sweeps import make_sweep
from tutorlib.instruments.sweeps.attention import LEVERS, STACKS, levered
from tutorlib.kernels.attention.schedule import AttentionConfig


def test_each_stack_of_levers_has_one_more_than_one_above_it_and_all_but_the_last_lever_are_the_default():
    for n, stack in enumerate(STACKS[1:], 1):
        assert any(set(above) < set(stack) and len(stack) == len(above) + 1 for above in STACKS[:n])
    assert levered(tuple(LEVERS)) == AttentionConfig(causal=True, persistent=True)
    assert levered(tuple(LEVERS)[:-1]) == AttentionConfig(causal=True)
    assert levered(()) == AttentionConfig(
        causal=True, pingpong=False, overlap=False, few_masks=False, longest_first=False
    )


def test_every_shape_of_a_forward_sweep_has_as_many_tokens():
    for name in ("attention_full", "attention_causal", "attention_backward"):
        sweep = make_sweep(name)
        assert {batch * tokens for batch, _, _, tokens, _, _ in sweep.shapes} == {16384}
        assert {(h // g, d) for _, h, g, _, _, d in sweep.shapes} == {(1, 128), (1, 64), (8, 128)}
        assert {tokens for _, _, _, tokens, _, _ in sweep.shapes} == {1024, 2048, 4096, 8192, 16384}


def test_a_decoding_step_reads_as_many_bytes_at_every_shape():
    sweep = make_sweep("decode")
    of_keys = {2 * prod((batch, kv_heads, keys, d)) for batch, _, kv_heads, _, keys, d in sweep.shapes}
    assert of_keys == {2**28}
    assert {queries for _, _, _, queries, _, _ in sweep.shapes} == {1}

"""Attention: the kernels of notebooks 19 and 20, and the operator that torch knows."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "hopper": "attend_tile attention_kernel consume_blocks load_tiles",
        "launch": "forward_by_tiles",
        "operator": "attention left_to_torch scaled_dot_product_attention",
        "roles": "TURN_BARRIER AttentionParts BlockLoads OnlineSoftmax first_turn last_turn make_mmas softmax_first",
        "schedule": "Order",
    },
)

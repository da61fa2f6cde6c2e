"""Attention: the kernels of notebooks 22 and 23, and the operator that torch knows."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "hopper": "attention_kernel",
        "operator": "left_to_torch scaled_dot_product_attention",
        "roles": "by_row p_operand pass_turn quad_reduce softmax_first step_together take_turn",
    },
)

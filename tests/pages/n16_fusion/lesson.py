"""The one thing each exercise of page 16 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "16.1": Lesson("GELU by tanh, in numbers that do not overflow", named("16.1", "relu", "sigmoid", "overflows")),
    "16.2": Lesson("a vector broadcast by a stride of 0", named("16.2", "row_major", "one_number", "of_one_tile")),
    "16.3": Lesson("bias and activation on the fp32 accumulators", named("16.3", "no_bias", "no_gelu", "rounds_first")),
    "16.4": Lesson("an operand of the epilogue, edges guarded", named("16.4", "no_edges", "rows_alone", "twice")),
    "16.5": Lesson(
        "a maximum over a block: shuffles, shared memory, a barrier",
        named("16.5", "no_shuffles", "in_turns", "from_every_lane", "without_a_barrier", "its_own_warp"),
    ),
    "16.6": Lesson(
        "gate and up interleaved so that one thread has both", named("16.6", "one_after_the_other", "no_up")
    ),
    "16.7": Lesson("the gate in registers", named("16.7", "gelu_gate", "no_up", "rounds_gate")),
    "16.8": Lesson(
        "a linear layer's backward pass is two GEMMs", named("16.8", "x_alone", "by_torch", "as_forward", "clones_grad")
    ),
    "16.9": Lesson(
        "a fake describes the result without computing it",
        named("16.9", "by_the_product", "by_linear", "on_the_cpu", "in_fp32"),
    ),
    "16.10": Lesson(
        "layers replaced in place, weights shared", named("16.10", "copied_weights", "top_level", "new_layers")
    ),
    "16.11": Lesson(
        "rows of gate and up, columns of down", named("16.11", "views", "rows_of_down", "always_the_first", "whole")
    ),
    "16.12": Lesson(
        "the backward computes again what fusion did not store",
        named("16.12", "by_autograd", "z_by_torch", "no_slope", "no_bias_in_z"),
    ),
    "16.13": Lesson(
        "an operator is a kernel and what torch has to know about it",
        named(
            "16.13",
            "a_function",
            "no_fake",
            "no_backward",
            "no_autocast",
            "as_attributes",
            "result_saved",
            "a_python_function",
        ),
    ),
    "16.14": Lesson(
        "weights interleaved once, and trained as they are",
        named(
            "16.14",
            "one_after_the_other",
            "in_each_call",
            "a_tensor",
            "keeps_plain",
            "keeps_a_list",
            "without_gradients",
        ),
    ),
}

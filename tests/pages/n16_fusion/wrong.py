"""Wrong answers to notebook 16.

WRONG: those that any machine tells by what they return. WRONG_WHEN_RUN: epilogues that the simulator tells, or a GPU.
"""

from tests.pages.n16_fusion import epilogues, fused_layers, operators

WRONG = {
    "16.6": fused_layers.INTERLEAVINGS,
    "16.8": fused_layers.BACKWARDS,
    "16.9": fused_layers.FAKES,
    "16.10": fused_layers.SWAPS,
    "16.11": fused_layers.SHARDS,
    "16.12": operators.GELU_BACKWARDS,
    "16.13": operators.REGISTRATIONS,
    "16.14": operators.MODULES,
}
WRONG_WHEN_RUN = {
    "16.1": epilogues.GELUS,
    "16.2": epilogues.ROWS,
    "16.3": epilogues.BIASED,
    "16.4": epilogues.FETCHES,
    "16.5": epilogues.LARGEST,
    "16.7": epilogues.GATES,
}

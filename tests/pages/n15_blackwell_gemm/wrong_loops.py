"""Wrong answers to notebook 15: the loops of the three roles."""

from tests.pages.n15_blackwell_gemm.blackwell_epilogues import STORE, WASTEFUL
from tests.pages.n15_blackwell_gemm.blackwell_multipliers import ANOTHER_LANE, MULTIPLY
from tests.pages.n15_blackwell_gemm.blackwell_producers import PRODUCE

REHEARSED = {"15.4": PRODUCE, "15.5": MULTIPLY, "15.6": STORE}
WRONG = REHEARSED | {"15.5": [*MULTIPLY, *ANOTHER_LANE], "15.6": [*STORE, *WASTEFUL]}

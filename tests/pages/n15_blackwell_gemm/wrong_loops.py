"""Wrong answers to notebook 15: the loops of the three roles."""

from tests.pages.n15_blackwell_gemm.blackwell_epilogues import STORE, WASTEFUL
from tests.pages.n15_blackwell_gemm.blackwell_multipliers import MULTIPLY, NOT_REHEARSED
from tests.pages.n15_blackwell_gemm.blackwell_producers import PRODUCE

REHEARSED = {"15.4": PRODUCE, "15.5": MULTIPLY, "15.6": STORE}
WRONG = REHEARSED | {"15.5": [*MULTIPLY, *NOT_REHEARSED], "15.6": [*STORE, *WASTEFUL]}

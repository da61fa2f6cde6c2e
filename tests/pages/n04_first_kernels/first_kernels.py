"""What the wrong and right answers to notebook 04 change in its kernels."""

from tests.pages.changed import Changed

PAGE = Changed(
    "04_first_kernels",
    {
        "04.4": "add_kernel",
        "04.5": "add_any_kernel",
        "04.6": "leaky_relu_kernel",
        "04.7": "add_bias_kernel",
        "04.8": "row_max_kernel",
    },
)
host = PAGE.host
kernel = PAGE.kernel

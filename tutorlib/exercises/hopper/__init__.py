"""What notebook 14's exercises are checked with: known mistakes, kinds of cases, kernels around an answer."""

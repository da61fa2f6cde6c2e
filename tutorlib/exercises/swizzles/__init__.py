"""What notebook 03 asks: banks, swizzles, and who holds what in an mma."""

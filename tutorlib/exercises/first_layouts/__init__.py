"""What notebook 01 asks: offsets, strides, coordinates, sizes, slices."""

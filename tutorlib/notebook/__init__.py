"""What a notebook calls besides pictures and explorers: check and hint, and kernels tried out on a GPU."""

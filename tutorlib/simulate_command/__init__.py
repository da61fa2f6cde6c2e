"""`tutor simulate`: a script as it is, or a kernel of a file on random tensors and its outputs against a reference."""

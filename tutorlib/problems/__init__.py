"""A kernel's contract: what it computes, on which tensors, how exact; and one call of it, looked at from all sides."""

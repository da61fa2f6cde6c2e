"""The machine at hand: its GPU and what that can do, the limits of GPUs by their datasheets, the packages."""

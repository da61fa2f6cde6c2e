"""What configurations of kernels have in common: they are refused in words."""


class ConfigError(ValueError):
    """A configuration that cannot be compiled. The message is the rule that it breaks."""

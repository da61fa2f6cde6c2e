"""The cases and the mistakes of notebook 15's value exercises."""

"""The room of page 14: `exercises` is the list that the registry reads."""

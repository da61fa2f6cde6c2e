"""The room of page 16: `exercises` is the list that the registry reads."""

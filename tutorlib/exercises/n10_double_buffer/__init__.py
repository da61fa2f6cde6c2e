"""The room of page 10: `exercises` is the list that the registry reads."""

"""The room of page 12: `exercises` is the list that the registry reads."""

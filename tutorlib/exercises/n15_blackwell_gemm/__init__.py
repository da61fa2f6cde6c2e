"""The room of page 15: `exercises` is the list that the registry reads."""

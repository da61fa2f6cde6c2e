"""The room of page 20: `exercises` is the list that the registry reads."""

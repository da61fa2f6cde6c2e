"""The room of page 11: `exercises` is the list that the registry reads."""

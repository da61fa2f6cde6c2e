"""The room of page 04: `exercises` is the list that the registry reads."""

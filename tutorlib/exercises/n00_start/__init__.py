"""The room of page 00: `exercises` is the list that the registry reads."""

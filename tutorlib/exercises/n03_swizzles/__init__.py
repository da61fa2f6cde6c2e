"""The room of page 03: `exercises` is the list that the registry reads."""

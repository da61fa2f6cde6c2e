"""The room of page 06: `exercises` is the list that the registry reads."""

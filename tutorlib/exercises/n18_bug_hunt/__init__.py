"""The room of page 18: `exercises` is the list that the registry reads."""

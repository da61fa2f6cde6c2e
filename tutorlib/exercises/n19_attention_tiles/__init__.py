"""The room of page 19: `exercises` is the list that the registry reads."""

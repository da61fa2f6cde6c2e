"""The room of page 08: `exercises` is the list that the registry reads."""

"""Cases and mistakes of notebook 04's exercises that need no kernel."""

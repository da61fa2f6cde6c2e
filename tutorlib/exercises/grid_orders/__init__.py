"""Cases and mistakes of notebook 11's exercises that need no kernel."""

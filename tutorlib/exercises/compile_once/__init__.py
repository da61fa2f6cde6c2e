"""What notebook 17's exercises are judged by."""

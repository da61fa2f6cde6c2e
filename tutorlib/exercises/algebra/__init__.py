"""What exercises on the layout algebra are checked with: laws, kinds of cases, drawn layouts, known mistakes."""

"""What repeats in a table, and what knowing it is worth."""

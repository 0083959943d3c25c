"""What a pass is, and what it works with."""

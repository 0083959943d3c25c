"""The passes, in running order."""

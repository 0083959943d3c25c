"""The table of window operators, and the readers of their nodes."""

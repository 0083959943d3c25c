"""The base class of passes, and the context that they work with."""

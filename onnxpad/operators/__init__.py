"""The window operators, and what their nodes say."""

"""The rules of steps: what a node makes of padded data, written from the specification."""

"""Model files as bytes: read without the weights, edited by splicing, written atomically."""

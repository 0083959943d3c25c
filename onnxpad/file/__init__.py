"""A model file on the level of bytes: read without weights, spliced, written whole."""

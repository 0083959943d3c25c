"""The sizes of its open dimensions that a model is meant for."""

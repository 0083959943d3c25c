"""Which sizes of its open dimensions a model is meant for."""

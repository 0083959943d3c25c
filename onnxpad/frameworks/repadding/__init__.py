"""Other paddings for the operators of a model: which there are, which fit, and writing them."""

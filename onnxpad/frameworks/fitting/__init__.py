"""The frameworks whose conventions the padding of a model fits, and how that is reported."""

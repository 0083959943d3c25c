"""Random models with padding in every form, and the measure of what is done to them."""

"""The proof: a term for each tensor, in one form, and one comparison that decides everything."""

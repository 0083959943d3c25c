"""The rules of the analysis, operator by operator."""

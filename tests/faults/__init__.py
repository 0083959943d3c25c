"""Random faults planted in the product, and which tests notice: `python -m tests.faults`."""

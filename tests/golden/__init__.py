"""What commands say and write of small models, kept as text beside the tests."""

"""Diagnosis of an installation: packages, execution providers, CUDA libraries, driver."""

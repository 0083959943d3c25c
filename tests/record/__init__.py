"""What each test costs and which functions of the package it executes: the record behind tiers."""

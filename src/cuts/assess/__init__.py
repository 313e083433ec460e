"""Checking what came out: decided on decoded tables, without the code that made them."""

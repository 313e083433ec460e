"""Verification and quality of finished tables, computed from decoded values without the code that generated them."""

"""Text with positions, and errors as data."""

"""The statistics of the language, one file an idea."""

"""The statistics of the language, one file per idea."""

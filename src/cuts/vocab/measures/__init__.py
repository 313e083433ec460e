"""The measures of the language: numbers of classifiers trained on the table."""

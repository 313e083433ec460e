"""What the language can name: statistics of a table, measures of classifiers, functions of numbers."""

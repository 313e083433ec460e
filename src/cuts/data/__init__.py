"""Tables, the schema they follow, and the codec between values and bins."""

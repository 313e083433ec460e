"""Rows on Spark: what the driver asks for is in `rows` and `private`, what workers do in `tasks` and `private_tasks`.

Nothing here imports pyspark before a session is asked for or a Spark DataFrame is given.
"""

"""The tables of the benchmarks, one module per family."""

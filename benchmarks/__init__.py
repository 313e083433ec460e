"""The benchmarks of `cuts`: every table of the paper, fidelity, peers, scale; one entry point, `make bench`."""

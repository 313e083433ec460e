"""`python -m cuts`."""

from cuts.cli import main

main()

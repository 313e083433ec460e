"""Where rows come from. One module per kind of source; `registry.py` finds the one for a location or an object."""

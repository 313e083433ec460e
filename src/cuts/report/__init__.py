"""The report of a run: what it says (`facts.py`), as one offline HTML page (`page.py`) and as JSON (`data.py`)."""

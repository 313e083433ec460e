"""What an editor shows about a program while it is written: problems, completions, hovers, symbols and edits.

Functions of the text and of what is known about its data; no function here raises for any text. `server.py` carries
them over the language server protocol and is the only module that imports `pygls`.
"""

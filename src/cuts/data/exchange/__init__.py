"""Tables in and out: files (`files`) and frames (`frames`), given back in the form they came.

The form is a value of its own (`FileForm`, `FrameForm`): types, order, decimals, spellings, delimiter, encoding.
"""

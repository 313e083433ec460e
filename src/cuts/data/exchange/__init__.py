"""Tables in and out: files (`files`) and data frames (`frames`), returned in the form they came in.

The form is a value of its own (`FileForm`, `FrameForm`): types, order, decimals, spellings, delimiter, encoding.
"""

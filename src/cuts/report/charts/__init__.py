"""Charts as inline SVG: pure functions of facts, one module per kind of chart.

Colours are CSS classes, so that one drawing serves the light theme, the dark one and paper. Every chart has a name and
a description with its main numbers; its marks have texts (`data-t`) that the page's script shows as tooltips.
"""

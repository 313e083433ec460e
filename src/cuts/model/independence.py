"""A column made unpredictable: in every component it gets the distribution it has in all rows.

Then no other column predicts it. Where a row rule leaves a component only some of its values, the component keeps to
those, and that much remains predictable.
"""

from __future__ import annotations

import torch

from cuts.model.mixture import Mixture


def loosen(mix: Mixture, target: str, strength: float) -> Mixture:
    """The mixture with a column made independent of all others: not at all at `strength` 0, entirely at 1."""
    index = mix.columns.index(target)
    table = mix.P[index]
    allowed = (mix.w @ table)[None, :] * (table > 0)  # what a rule took from a component stays away
    population = allowed / allowed.sum(1, keepdim=True)
    P = list(mix.P)
    P[index] = torch.lerp(table, population, strength)
    return Mixture(mix.columns, mix.w, tuple(P))

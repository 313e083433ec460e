"""A column made unpredictable: in every component it gets the distribution it has in all rows.

Then no other column tells anything of it. Where a row rule leaves a component only some of its values, it keeps to
those, and that much can still be told.
"""

from __future__ import annotations

import torch

from cuts.model.mixture import Mixture


def loosen(mix: Mixture, target: str, strength: float) -> Mixture:
    """The mixture with a column made independent of all others, as far as `strength` from 0 to 1 goes."""
    place = mix.columns.index(target)
    own = mix.P[place]
    allowed = (mix.w @ own)[None, :] * (own > 0)  # what a rule took from a component stays away
    even = allowed / allowed.sum(1, keepdim=True)
    P = list(mix.P)
    P[place] = torch.lerp(own, even, strength)
    return Mixture(mix.columns, mix.w, tuple(P))

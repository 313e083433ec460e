"""What is public about a release before any row is read: its terms, its bins, and how well columns will be known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt

from cuts.config import Config
from cuts.data.codec import Codec, build_codec
from cuts.data.columns import Numeric
from cuts.data.schema import Column
from cuts.lang.spec import Privacy
from cuts.plan import Plan, with_bins
from cuts.privacy.accountant import rho_of
from cuts.privacy.adaptive import (
    MEAN_ABSOLUTE_NOISE,
    AdaptiveSettings,
    first_cost,
    settings_for,
    single_repeats,
    single_scale,
)
from cuts.privacy.ledger import Terms
from cuts.privacy.natural_bins import natural_edges
from cuts.privacy.noise_scale import gaussian_scale
from cuts.privacy.precision import MAX_MOVED, Precision, predicted

USUAL_ROWS = (1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Expected:
    """How well a release will know a table of that many rows: every column, and how many pairs of columns well."""

    rows: int
    columns: tuple[Precision, ...]
    good_pairs: int
    pairs: int


def terms_of(privacy: Privacy) -> Terms:
    """The terms of a release that a privacy command asks for."""
    return Terms(privacy.epsilon, privacy.delta, privacy.max_rows_per_person, privacy.person, privacy.relation)


def public_codec(planned: Plan, config: Config) -> tuple[Codec, dict[str, int]]:
    """Bins that follow from schema and program alone, and for columns with many how many groups they may form."""
    columns: list[Column] = []
    groups: dict[str, int] = {}
    for column in with_bins(planned.spec.schema, config).columns:
        if isinstance(column, Numeric) and column.name not in dict(planned.spec.schema.formulas):
            bins = column.bins
            if column.binning == "quantile" and isinstance(bins, int):
                groups[column.name] = bins
                bins = natural_edges(column)  # noisy counts join neighbours
            columns.append(replace(column, bins=bins, binning="uniform"))
        else:
            columns.append(column)
    schema = replace(planned.spec.schema, columns=tuple(columns), derived=())
    return build_codec(schema, planned.cuts.columns), groups


def expect(planned: Plan, config: Config, rows: Sequence[int] = USUAL_ROWS) -> tuple[Expected, ...]:
    """How well the release of a private plan will know tables of some sizes; no rows are read for it."""
    privacy = planned.spec.privacy
    assert privacy is not None
    codec, groups = public_codec(planned, config)
    terms = terms_of(privacy)
    budget = rho_of(privacy.epsilon, privacy.delta)
    settings = settings_for(config.method, len(codec.columns))
    return tuple(_expected(codec, groups, terms, budget, number, settings) for number in rows)


def _expected(
    codec: Codec, groups: dict[str, int], terms: Terms, budget: float, rows: int, settings: AdaptiveSettings
) -> Expected:
    once = single_scale(budget, terms, len(codec.columns), settings)
    times = 1 + single_repeats(once, codec, rows, settings)
    left = budget * (1.0 - times * settings.single_column_share)
    cost = (1.0 - settings.selection_share) * first_cost(left, budget, rows, terms, settings)
    noise = MEAN_ABSOLUTE_NOISE * gaussian_scale(cost, terms) / (2 * rows)
    sizes = [min(size, groups.get(name, size)) for name, size in codec.sizes.items()]
    pairs = [noise * one * other for one, other in combinations(sizes, 2)]
    columns = predicted(codec, once / sqrt(times), rows, groups)
    return Expected(rows, columns, sum(moved <= MAX_MOVED for moved in pairs), len(pairs))

"""Problems of the row rules together: contradictions, redundant commands, vacuous implications, dead categories."""

from __future__ import annotations

from collections.abc import Sequence

from cuts.data.schema import Category, Schema
from cuts.data.table import Table
from cuts.lang.printer import code, name, value
from cuts.lang.spec import Implies, RowRule
from cuts.logic.core import Grid, build_grid, encode_variables
from cuts.logic.diagram import Store, compile_rules, contains, groups
from cuts.logic.formula import FALSE, TRUE, All, Formula, Leaf, lower
from cuts.logic.solve import Solver, alive, smallest
from cuts.text.diagnostic import INFEASIBLE, Diagnostic, Note, has_errors, listed
from cuts.text.source import Span


def check_rules(rules: Sequence[RowRule], schema: Schema) -> tuple[Diagnostic, ...]:
    """The problems of the rules before any training: contradictions are errors, everything else is a warning."""
    grid = build_grid([rule.pred for rule in rules], schema, coarse=True)
    formulas = [lower(rule.pred, grid) for rule in rules]
    problems: list[Diagnostic] = []
    for rule, formula in zip(rules, formulas, strict=True):
        if formula == FALSE:
            problems.append(contradiction([rule]))
        elif formula == TRUE:
            problems.append(_always_true(rule, grid))
    linked = [number for number, formula in enumerate(formulas) if formula not in (TRUE, FALSE)]
    for group in groups([formulas[number] for number in linked]):
        numbers = [linked[i] for i in group]
        problems += _Group([rules[n] for n in numbers], [formulas[n] for n in numbers], grid).findings()
    if has_errors(problems):
        problems = [d for d in problems if d.severity == "error"]
    return tuple(sorted(problems, key=lambda d: d.span.start if d.span is not None else 0))


def share(rules: Sequence[RowRule], schema: Schema, table: Table) -> float:
    """The share of a table's rows that satisfy all rules, decided by the diagram; exact."""
    preds = [rule.pred for rule in rules]
    grid = build_grid(preds, schema, coarse=True)
    return float(contains(compile_rules(preds, grid), encode_variables(table, grid)).mean())


class _Group:
    """Rules linked by the columns they share."""

    def __init__(self, rules: Sequence[RowRule], formulas: Sequence[Formula], grid: Grid) -> None:
        self.rules = rules
        self.formulas = formulas
        self.grid = grid
        self.antecedents = {
            number: lower(rule.pred.left, grid) for number, rule in enumerate(rules) if isinstance(rule.pred, Implies)
        }
        self.store = Store(formulas, grid, also=list(self.antecedents.values()))
        self.solver = Solver(self.store)
        self.all = tuple(range(len(rules)))

    def findings(self) -> list[Diagnostic]:
        """Contradictions alone, or all warnings."""
        if not self.solver.possible(self.store.roots):
            conflict = smallest(self.all, lambda chosen: not self.solver.possible(self._roots(chosen)))
            return [contradiction([self.rules[number] for number in conflict])]
        return [*self._superfluous(), *self._dead()]

    def _roots(self, chosen: Sequence[int]) -> list[int]:
        return [self.store.roots[number] for number in chosen]

    def _excluded_by(self, others: Sequence[int], node: int) -> list[RowRule] | None:
        """The fewest rules of `others` that leave no row for `node`, or None if they leave some."""

        def excluded(chosen: Sequence[int]) -> bool:
            return self.solver.excluded([*self._roots(chosen), node])

        if not excluded(others):
            return None
        return [self.rules[number] for number in smallest(others, excluded)]

    def _superfluous(self) -> list[Diagnostic]:
        """Rules that change nothing; of equivalent rules, the later ones."""
        problems: list[Diagnostic] = []
        kept = list(self.all)
        for number in reversed(self.all):
            rule = self.rules[number]
            others = [other for other in kept if other != number]
            antecedent = self.antecedents.get(number, TRUE)
            because = None if antecedent == TRUE else self._excluded_by(others, self.store.build(antecedent))
            if because is not None:
                problems.append(vacuous(rule, because))
                kept.remove(number)
                continue
            because = self._excluded_by(others, self.store.opposite(self.store.roots[number]))
            if because is not None:
                problems.append(redundant(rule, because))
                kept.remove(number)
        return problems

    def _dead(self) -> list[Diagnostic]:
        """Categories that no row can have any more although no rule about their column alone excludes them."""
        problems: list[Diagnostic] = []
        living = None if self.solver.has_sums else alive(self.store, self.store.conjunction())
        for level, variable in enumerate(self.store.variables):
            column = self.grid.codec[variable].column if isinstance(variable, str) else None
            if not isinstance(column, Category):
                continue
            excluded = 0
            for formula in self.formulas:
                for part in formula.parts if isinstance(formula, All) else (formula,):
                    if isinstance(part, Leaf) and part.variable == variable:
                        excluded |= ~part.bins
            classes = self.store.classes[level]
            for number in range(int(classes.max()) + 1):
                if living is not None and number in living[level]:
                    continue
                values = [
                    category
                    for position, category in enumerate(column.categories)
                    if classes[position] == number and not excluded >> position & 1
                ]
                because = self._excluded_by(self.all, self.store.having(level, number)) if values else None
                if because is not None:
                    problems.append(dead_category(column.name, values, because))
        return problems


def _always_true(rule: RowRule, grid: Grid) -> Diagnostic:
    if isinstance(rule.pred, Implies) and lower(rule.pred.left, grid) == FALSE:
        return vacuous(rule, [])
    return redundant(rule, [])


# --- diagnostics


def contradiction(rules: Sequence[RowRule]) -> Diagnostic:
    """No row can satisfy these commands."""
    first, *rest = rules
    alone = "no row can satisfy this command"
    together = f"no row can satisfy these {len(rules)} commands together"
    return Diagnostic(
        "contradiction",
        together if rest else alone,
        first.origin.body_span,
        "together with" if rest else "never holds",
        "drop or relax one of them; any smaller set can be satisfied" if rest else "relax it, or widen the schema",
        notes=tuple(Note(rule.origin.body_span, "this" if rule is rest[0] else "and this") for rule in rest),
        exit_code=INFEASIBLE,
    )


def redundant(rule: RowRule, because: Sequence[RowRule]) -> Diagnostic:
    """A command that others imply."""
    by = f"implied by {_lines(because)}" if because else "every value of the schema satisfies it"
    return Diagnostic(
        "redundant-command",
        "this command changes nothing",
        rule.origin.body_span,
        by,
        "leave it out, or keep it as documentation",
        notes=_notes(because, "makes it redundant"),
        severity="warning",
    )


def vacuous(rule: RowRule, because: Sequence[RowRule]) -> Diagnostic:
    """An implication that never applies."""
    by = f"excluded by {_lines(because)}" if because else "no value of the schema satisfies it"
    left = _left_span(rule)
    return Diagnostic(
        "vacuous-implication",
        "this implication never applies: its condition cannot hold",
        left,
        by,
        "leave it out, or correct its condition",
        notes=_notes(because, "excludes it"),
        severity="warning",
    )


def dead_category(column: str, values: Sequence[str], because: Sequence[RowRule]) -> Diagnostic:
    """Values that the rules together exclude."""
    first, *rest = because
    rule = f"{name(column)} NOT IN {{{', '.join(map(value, values))}}}"
    return Diagnostic(
        "dead-category",
        f"no row can have `{column}` = {listed(list(values))} any more",
        first.origin.body_span,
        "because of this" if not rest else "because of this together with",
        f"if that is intended, state it: {code(rule)}",
        notes=_notes(rest, "this"),
        severity="warning",
    )


def _left_span(rule: RowRule) -> Span:
    return rule.origin.antecedent_span or rule.origin.body_span


def _notes(rules: Sequence[RowRule], label: str) -> tuple[Note, ...]:
    return tuple(Note(rule.origin.body_span, label) for rule in rules)


def _lines(rules: Sequence[RowRule]) -> str:
    lines = [str(rule.origin.line) for rule in rules]
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(lines[:-1])} and {lines[-1]}"

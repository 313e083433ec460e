#!/usr/bin/env bash
# What `make demo` runs, on the Adult table that comes with the package: a program is checked, planned, verified on the
# real rows and enforced in synthetic ones; then a model is fitted, sampled from and evaluated; finally a private one.
# `--preview` is a quick fit: leave it out for the best one, which takes one or two minutes. One thread is fastest on a
# busy machine.
set -euo pipefail
cd "$(dirname "$0")"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
export CUTS_LEDGER="$made/ledger.jsonl"

say() { printf '\n# %s\n' "$*"; }

# Print a command and its output; file names are printed without the temporary folder.
show() {
    { printf '\n$' && for word; do case $word in *' '*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac; done
      printf '\n' && "$@" 2>&1; } | sed "s|$made/||g"
}

# The same for a command that must end with the given exit code.
show_exit() {
    local wanted=$1 code=0
    shift
    show "$@" || code=$?
    [ "$code" -eq "$wanted" ] || { say "exit code $code instead of $wanted"; exit 1; }
}

fast=(--preview --threads 1 --quiet)

say "A program states what the table must satisfy. Mistakes are reported before any work is done."
show cat adult.cuts
show cuts check adult.cuts
show cuts plan adult.cuts
show cuts check paper_rules.cuts

say "Rules that contradict each other are refused, with the smallest conflicting set."
cat > "$made/contradiction.cuts" <<'END'
SYNTHESIZE: adult;
    ENFORCE: sex == Female;
    ENFORCE: relationship == Husband;
    ENFORCE: relationship == Husband IMPLIES sex == Male;
END;
END
show_exit 3 cuts check "$made/contradiction.cuts"

say "The real rows do not satisfy the program: that is what the synthetic table is for."
show_exit 1 cuts verify adult.cuts adult

say "A synthetic table: row rules and means hold, and the parity gap of classifiers is reduced and measured."
show_exit 0 cuts run adult.cuts "${fast[@]}" -o "$made/synthetic.csv"
show head -n 4 "$made/synthetic.csv"

say "A model of the table without constraints, to generate rows later without the table, also under a condition."
echo 'SYNTHESIZE: adult; END;' > "$made/imitate.cuts"
show cuts fit "$made/imitate.cuts" "${fast[@]}" -o "$made/adult.synth"
show cuts sample "$made/adult.synth" -o "$made/imitation.csv"
show cuts sample "$made/adult.synth" -n 3 --where "age > 60 AND sex == Female" -o "$made/older.csv"
show cat "$made/older.csv"

say "How close the generated rows are to the real ones; training classifiers needs cuts[report]."
parts=marginals
if python -c 'import sklearn, xgboost' 2> /dev/null; then parts=marginals,downstream; fi
show cuts evaluate "$made/imitation.csv" --train adult:train --test adult:test --parts "$parts" --quiet

say "Differential privacy: the rows are read once, noise is added, and the model contains the ledger of every query."
show cat private.cuts
show cuts fit private.cuts "${fast[@]}" -o "$made/private.synth"
show cuts ledger show "$made/private.synth" | tail -n 14
show cuts ledger list

say "Another program on the same release spends no further budget and reads no row."
echo 'SYNTHESIZE: adult; ENFORCE: age > 30; END;' > "$made/older.cuts"
show cuts run "$made/older.cuts" --from-transcript "$made/private.synth" "${fast[@]}" -o "$made/older_private.csv"

#!/usr/bin/env bash
# What `make demo` runs, on the loans that come with the package: a program is checked, verified on the real rows and
# enforced in synthetic ones; a private release follows, and finally the report of a fair table.
# `--preview` is a quick fit: leave it out for the best one, which takes about a minute. One thread is fastest on a busy
# machine. The table and the report stay in the folder build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
made=build/demo
rm -rf "$made" && mkdir -p "$made"
export CUTS_LEDGER="$made/ledger.jsonl"

say() { printf '\n# %s\n' "$*"; }

# Print a command and its output.
show() {
    printf '\n$' && for word; do case $word in *' '*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac; done
    printf '\n' && "$@" 2>&1
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
show cat examples/credit.cuts
show cuts check examples/credit.cuts
show cuts plan examples/credit.cuts

say "Rules that contradict each other are refused, with the smallest conflicting set."
cat > "$made/contradiction.cuts" <<'END'
SYNTHESIZE: credit;
    ENFORCE: age > 35;
    ENFORCE: housing == own;
    ENFORCE: sex == male;
    ENFORCE: age < 20 OR sex == female;
END;
END
show_exit 3 cuts check "$made/contradiction.cuts"

say "The real rows do not satisfy the program: that is what the synthetic table is for."
show_exit 1 cuts verify examples/credit.cuts credit

say "Differential privacy: the rows are read once, noise is added, and the model contains the ledger of every query."
show cat examples/private.cuts
show cuts fit examples/private.cuts "${fast[@]}" -o "$made/private.synth"
show cuts ledger show "$made/private.synth" | tail -n 12

say "The synthetic table: rules and means hold, the parity gap of classifiers is reduced and measured. Open its report."
test=()
if python -c 'import xgboost' 2> /dev/null; then test=(--test credit:test); fi
show_exit 0 cuts run examples/credit.cuts "${fast[@]}" "${test[@]}" -o "$made/loans.csv" --report "$made/loans.html"

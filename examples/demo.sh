#!/usr/bin/env bash
# Check, plan and verify an example program on the embedded Adult table.
set -euo pipefail
cd "$(dirname "$0")"

show() { printf '\n$ %s\n' "$*"; "$@"; }

show cat adult.cuts
show cuts check adult.cuts
show cuts plan adult.cuts
show cuts verify adult.cuts adult || true    # the real rows break some lines: that is the point of a synthetic table
show cuts check paper_rules.cuts

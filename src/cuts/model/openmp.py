"""How the threads of the linear algebra wait. Imports no torch, which reads this when it is loaded."""

from __future__ import annotations

import os


def wait_passively() -> None:
    """Have threads sleep while they wait for each other, instead of keeping cores busy that others need.

    For the process of the command line, before torch is imported; a host program decides for itself. What the user set
    is kept.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

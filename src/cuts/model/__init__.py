"""The model: a mixture of products, what makes it, how it is fitted, drawn from and saved."""

import os

# Threads that wait for each other must not burn the cores of others. Read when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

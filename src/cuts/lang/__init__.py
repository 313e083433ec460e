"""The language: text to tree (`parser`), tree to text (`printer`), tree and schema to a typed `Spec` (`binder`)."""

"""The backbones of this package, one module each; all of them are loaded by `cuts.model.backbone`."""

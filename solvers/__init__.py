"""Reconstruction backends: one file each, one interface (`base.Reconstructor`)."""

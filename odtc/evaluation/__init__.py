"""Runs compared: benchmarks, cross-validation, reports, plots, diagnostics. Imports workflow and all below it."""

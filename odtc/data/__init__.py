"""From a file to encoded rows in three layers: `cells`, `table`, and the modules here, which know the roles of columns
(features, target, weights) and the splits of the features.

Imports algorithms and base.
"""

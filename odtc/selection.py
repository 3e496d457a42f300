"""What a data selection is: which rows of a data set a tree is trained on.

    NAME, SUMMARY
    select(dataset, …)             -> the places of the chosen rows
"""

from odtc.registry import Registry

SELECTIONS = Registry("selection", "odtc.selections", (), ("NAME", "SUMMARY", "select"))

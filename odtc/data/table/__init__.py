"""From typed columns to codes: the different cells of each column, the order of its levels, and the code of each row.

The middle layer of odtc.data: it knows no target and no splits.
"""

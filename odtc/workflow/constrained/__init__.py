"""Reports on the constraints of a run: requested and reached figures, their cost, and the constraints that new rows
satisfy."""

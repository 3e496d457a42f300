"""Tasks, one module each (odtc.data.task)."""

"""What every other package stands on: registry, deadline, memory, atomic writes, JSON schemas, templates.

Imports only odtc.errors.
"""

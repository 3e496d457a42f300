"""Row selection: which rows to train on. The contract and its plug-ins."""

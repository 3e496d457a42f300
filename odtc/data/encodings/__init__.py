"""The encodings: which splits on the columns of a data set are available. One module per encoding."""

"""The encodings: which tests the columns of a data set offer. One module an encoding."""

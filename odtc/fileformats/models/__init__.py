"""The formats of model files. One module a format."""

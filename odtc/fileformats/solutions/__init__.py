"""The formats of solution files and MIP starts, recognised by their content. One module a format."""

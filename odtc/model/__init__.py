"""A mixed-integer linear model as blocks of columns and rows, its points and its solution. Imports base only."""

"""Trees found quickly, for starts and bounds. Imports trees, data, algorithms and base."""

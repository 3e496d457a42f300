"""Files read by the workers of a cluster: parts that are cut at line ends or between rows, put together as a tree."""

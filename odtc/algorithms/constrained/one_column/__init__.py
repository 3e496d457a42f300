"""Trees that ask the tests of one column alone: their leaves are intervals of its ranks."""

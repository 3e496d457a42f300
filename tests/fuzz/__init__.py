"""Fuzzing of every reader: bytes in, an answer or one sentence out.

`python -m tests.fuzz TARGET…` runs long, guided by coverage if atheris is installed (the extra `fuzz`), else by plain
random mutations. `test_fuzz.py` replays the corpus and some hundred mutations of it from fixed seeds.
"""

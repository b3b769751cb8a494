"""Whole investigations on top of the harness: the paper, the zoo, the flagship."""

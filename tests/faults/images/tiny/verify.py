"""Runs inside the built image. There is no Python in it: nothing to verify but that it was built."""

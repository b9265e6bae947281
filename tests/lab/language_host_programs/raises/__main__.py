"""Fails two calls deep, so that a traceback has something to show."""


def count_nodes() -> int:
    raise ValueError("the fleet has no nodes")


count_nodes()

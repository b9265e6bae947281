"""Maintainers' programs: checks and updates of tables, and the arguments of components. No user runs them."""

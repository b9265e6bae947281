"""Maintainers' programs: checks and updates of tables. No user runs them."""

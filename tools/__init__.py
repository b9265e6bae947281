"""What maintainers run: checks of the tables. No user of the product runs it."""

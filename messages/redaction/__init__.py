"""What may not be shown, and texts without it."""

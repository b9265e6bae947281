"""What may not be shown, and texts without it. The ways in: `texts` takes secrets out, `names` knows secrets by name."""

"""Substitutes for images that a registry-only machine cannot pull. Each says what it stands for."""

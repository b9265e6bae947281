"""Images that take the place of those that a registry-only machine cannot pull. Each says what it stands for."""

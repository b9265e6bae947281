"""Node groups on Flatcar, an OS without a driver: its releases, where a driver comes from, and a node's config."""

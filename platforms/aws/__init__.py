"""GPU node groups on AWS as plain values: instances, matching machine images, and group settings."""

"""`gpu-commons image`, a file for each of its commands."""

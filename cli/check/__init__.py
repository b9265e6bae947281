"""`gpu-commons check`."""

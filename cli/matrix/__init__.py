"""`gpu-commons matrix`."""

"""`gpu-commons schema`."""

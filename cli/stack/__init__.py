"""`gpu-commons stack`."""

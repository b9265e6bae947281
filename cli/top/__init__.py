"""`gpu-commons top`."""

"""`gpu-commons explain`."""

"""`gpu-commons init`."""

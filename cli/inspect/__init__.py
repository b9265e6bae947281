"""`gpu-commons inspect`."""

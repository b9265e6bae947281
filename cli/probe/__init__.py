"""`gpu-commons probe`."""

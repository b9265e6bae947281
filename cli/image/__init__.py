"""`gpu-commons image`: one file per command."""

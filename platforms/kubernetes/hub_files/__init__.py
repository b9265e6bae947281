"""Files that run inside the hub: its ConfigMap brings them all, and they are a package there as they are here.

They see the hub image's Python and JupyterHub, and nothing else of this project.
"""

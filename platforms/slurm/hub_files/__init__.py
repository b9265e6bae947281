"""Programs of a hub on a cluster with Slurm: they run on its login node and in the image of the hub.

They see the Python that runs them and each other, and nothing else of this project. `agent` and `service` run with the
login node's own Python, 3.6 or newer, and its standard library.
"""

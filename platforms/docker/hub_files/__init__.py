"""Programs of a hub on a Docker host: a volume brings them into its containers, a package there as they are here.

They see the Python of the image that runs them and each other, and nothing else of this project.
"""

"""Files of every hub, wherever it runs: pages and their words, what every spawner does, configuration.

They see the hub image's Python and JupyterHub, and nothing else of this project. `hub_programs` puts them into one
package with those of a platform.
"""

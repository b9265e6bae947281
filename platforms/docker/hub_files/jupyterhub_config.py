"""Configures a hub on a Docker host from hub.json, with the secrets in /credentials.

Read by JupyterHub inside the hub's container, never imported by this project.
"""

from pathlib import Path

from hub_files.configuration import configure_from_files  # type: ignore[import-not-found]  # beside this file

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there
configure_from_files(c, Path("/credentials"))

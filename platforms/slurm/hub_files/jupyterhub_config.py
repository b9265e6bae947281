"""Configures a hub on a Slurm cluster from hub.json, with the secrets in /state/credentials.

Read by JupyterHub inside the hub's image, never imported by this project.
"""

from functools import partialmethod
from pathlib import Path

from hub_files.configuration import configure_from_files  # type: ignore[import-not-found]  # beside this file
from tornado.httpserver import HTTPServer

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there
configure_from_files(c, Path("/state/credentials"))

# The keeper has bound the hub's port: who shares a port says so, and is of the same account.
HTTPServer.listen = partialmethod(HTTPServer.listen, reuse_port=True)  # type: ignore[method-assign,assignment]

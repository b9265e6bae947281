"""SifImage: an image of the stack as a file for Slurm nodes."""

from typing import Any

import pulumi

from components.argument_errors import explained
from components.on_slurm.sif_files import SifFile
from components.on_slurm.site import site_of
from components.on_slurm.slurm_site_args import SifImageArgs
from platforms.slurm.sif import sif_path


class SifImage(pulumi.ComponentResource):
    """One file, named after its image's digest. It outlives the stack, like the image in its registry."""

    path: pulumi.Output[str]
    """Path on login and compute nodes alike."""
    sha256: pulumi.Output[str]
    """Of the whole file."""
    size_bytes: pulumi.Output[int]
    """Its size."""

    def __init__(self, name: str, args: SifImageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-commons:index:SifImage", name, {**args}, opts)
        with explained():
            store = site_of(args["site"]).image_store
        image_name = args["image_name"]
        ref = pulumi.Output.from_input(args["image"])
        # Known before the file exists: a preview shows the whole batch script.
        path = ref.apply(lambda known: sif_path(store, image_name, known))
        inputs: dict[str, Any] = {"ref": ref, "path": path, "image_name": image_name, "site": args["site"]}
        file = SifFile(f"{name}-file", inputs, pulumi.ResourceOptions(parent=self))
        self.path, self.sha256, self.size_bytes = file.path, file.sha256, file.size_bytes
        self.register_outputs({"path": self.path, "sha256": self.sha256, "size_bytes": self.size_bytes})

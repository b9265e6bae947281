"""Says what it was given: a plain value, a secret one, whether this is a preview."""

import pulumi

config = pulumi.Config()
pulumi.export("greeting", f"hello {config.require('who')}")
pulumi.export("word", config.require_secret("word"))
pulumi.log.info(f"preview: {pulumi.runtime.is_dry_run()}, project: {pulumi.get_project()}")

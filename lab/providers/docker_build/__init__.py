"""Stand-in for the docker-build plugin 0.0.22: used only where the official plugin cannot be had.

It drives `buildctl` against the builder that `$DOCKER_CONFIG/buildx/instances/<name>` names, so one program works
with both plugins. What it cannot honour is refused in Check; nothing is ignored silently. Unlike the official
plugin it pushes a plain manifest: buildx adds an index with a provenance attestation unless
BUILDX_NO_DEFAULT_ATTESTATIONS is set.
"""

#!/bin/sh
# Builds SingularityCE from its module: build.sh MODULE_FOLDER TARGET VERSION, with Go first on PATH.
# Its own build needs a few things that a module lacks, and its targets by name: `make` alone compiles all of it twice.
set -eu
module=$1 target=$2 version=$3
work=$(mktemp -d "$target.build-XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
cp -r "$module/." "$work"
chmod -R u+w "$work"
cd "$work"
echo "$version" >VERSION                              # else it asks git
grep -rlI -m1 '^#!' . | xargs chmod +x                # a module has no executable files
# No suid: so it finds its files beside itself, wherever it is copied to.
./mconfig -P release-stripped -V "$version" --without-squashfuse --without-suid --without-network \
  --prefix="$target" -b builddir
touch builddir/.clean-starter                         # else make empties Go's build cache
etc=$target/etc/singularity
make -C builddir "$target/bin/singularity" "$target/libexec/singularity/bin/starter" \
  "$target/var/singularity/mnt/session" "$etc/singularity.conf" "$etc/remote.yaml" "$etc/capability.json" \
  "$etc/ecl.toml" "$etc/seccomp-profiles/default.json" "$etc/nvliblist.conf" "$etc/rocmliblist.conf" \
  "$etc/cgroups/cgroups.toml" "$etc/global-pgp-public"

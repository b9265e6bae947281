set -eu
if [ ! -x /host/usr/bin/nvidia-persistenced ]; then
  echo "no /usr/bin/nvidia-persistenced on this node: is the NVIDIA driver installed?" >&2
  exit 1
fi
trap 'kill "$(cat /host/run/nvidia-persistenced/nvidia-persistenced.pid)"; exit 0' TERM
chroot /host /usr/bin/nvidia-persistenced --verbose
while kill -0 "$(cat /host/run/nvidia-persistenced/nvidia-persistenced.pid)"; do sleep 5 & wait $!; done
echo "nvidia-persistenced ended" >&2
exit 1

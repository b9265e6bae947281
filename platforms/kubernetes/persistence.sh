set -eu
daemon=/usr/bin/nvidia-persistenced
runs() {
  pid=$(cat /host/run/nvidia-persistenced/nvidia-persistenced.pid 2>/dev/null) &&
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = nvidia-persiste ]
}
if runs; then
  echo "this node runs nvidia-persistenced, process $pid: using it"
  trap 'exit 0' TERM
elif [ ! -x "/host$daemon" ]; then
  echo "no $daemon on this node: is the NVIDIA driver installed?" >&2
  exit 1
else
  trap 'if runs; then kill "$pid"; fi; exit 0' TERM
  chroot /host "$daemon" --verbose
  runs || { echo "nvidia-persistenced ended at once: the node's system log says why" >&2; exit 1; }
  echo "this node ran no nvidia-persistenced: started as process $pid"
fi
while runs; do sleep 5 & wait $!; done
echo "nvidia-persistenced ended" >&2
exit 1

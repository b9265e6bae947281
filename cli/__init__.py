"""The command `gpu-commons`: a file per command. Each parses, calls, prints and sets the exit code; none decides."""

"""The command `gpu-commons`: one command a file. Each parses, calls, prints and sets the exit code; none decides."""

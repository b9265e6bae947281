"""Runs until somebody ends it, and tells its process number first."""

import os
import time
from pathlib import Path

Path("pid").write_text(str(os.getpid()))
time.sleep(300)

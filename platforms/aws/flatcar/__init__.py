"""Node groups on Flatcar, an OS without a driver: releases, driver sources and node configs."""

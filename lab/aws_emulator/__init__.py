"""The lab's AWS: moto for every service but EKS, and the lab's own EKS beside it."""

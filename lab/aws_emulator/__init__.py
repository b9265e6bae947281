"""What plays AWS in the lab: moto for every service but EKS, and the lab's own EKS beside it."""

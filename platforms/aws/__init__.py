"""GPU node groups on AWS as plain values: what an instance has, which machine image fits, what a group asks for."""

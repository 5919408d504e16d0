"""The parts of the `testcluster` tool; each module has one subject."""

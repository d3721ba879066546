"""Sources of workloads: each makes one trace per rank, and the communicator groups they name."""

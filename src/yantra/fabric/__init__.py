"""What a cluster is made of: topologies, and named clusters that put devices on them."""

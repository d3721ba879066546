"""The life of a training job on a cluster that fails: goodput, what is lost, and what it costs."""

"""A format, a power log and a source, each as small as it can be."""

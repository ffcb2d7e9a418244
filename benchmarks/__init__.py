"""What `make bench` runs. Each file prints ratios to something named, measured in the same run."""

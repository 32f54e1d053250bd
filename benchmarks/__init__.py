"""Speed, as ratios between things timed in turn in one run: `make bench`."""

"""A Ray cluster of three workers on this machine, in a process of its own, until its input ends.

Ray is not started by the tests' process, where JAX has threads that its forks may hurt.
"""

import sys

from longpass.jobs import ray_cluster


def main() -> None:
    with ray_cluster(None, 3) as ray:
        print(ray.get_runtime_context().gcs_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()

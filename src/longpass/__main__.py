"""`python -m longpass` is the console script `longpass`."""

from longpass.cli import main

main()

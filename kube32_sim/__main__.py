"""`python -m kube32_sim` is `kube32-sim`."""

from kube32_sim.cli import main

if __name__ == "__main__":
    main()

"""Run ``python -m mempal`` as the ``mempal`` command."""

from mempal.entry import main

if __name__ == "__main__":
    main()

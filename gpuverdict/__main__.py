"""`python -m gpuverdict`."""

from .engine.cli import run

if __name__ == "__main__":
    run()

"""gpuverdict explains slow LLM serving from the files people already have."""

from pathlib import Path as _Path

__version__ = "0.1.0"
__all__ = ["__version__", "analyze"]

# In a bare checkout the engine, parsers and rules lie beside this folder, not inside it.
_here = _Path(__file__).parent
if not (_here / "engine").is_dir() and (_here.parent / "engine").is_dir():
    __path__.append(str(_here.parent))


def __getattr__(name: str) -> object:
    """Load `analyze` only when it is asked for: it brings DuckDB and polars with it."""
    if name == "analyze":
        from .engine.analyze import analyze

        return analyze
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

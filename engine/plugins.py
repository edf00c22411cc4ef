"""Parsers, rules and hardware rows from the package itself and from plugins, all through the same pluggy hooks.

A third party declares an entry point in the group `gpuverdict` that names a module with the functions below, marked with `hookimpl`:

- `gpuverdict_parsers() -> list[Parser | LineFormat]`
- `gpuverdict_rules() -> list[Rule]`
- `gpuverdict_hardware() -> list[dict]`   rows for the GPU catalogue, keyed by the columns of `catalog/gpus.csv`

A plugin that raises becomes a quality row of the report; the others are not affected.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, field
from typing import Any

import pluggy

from .line_format import LineFormat
from .parser import Parser
from .recognise import builtin_parsers
from .rule import Rule

GROUP = "gpuverdict"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class Hooks:
    """The whole plugin contract."""

    @hookspec
    def gpuverdict_parsers(self) -> list[Any]:
        """Parsers and line formats. A later one of the same name replaces an earlier one."""
        raise NotImplementedError

    @hookspec
    def gpuverdict_rules(self) -> list[Rule]:
        """Rules. A later one of the same id replaces an earlier one."""
        raise NotImplementedError

    @hookspec
    def gpuverdict_hardware(self) -> list[dict[str, Any]]:
        """Rows of the GPU catalogue."""
        raise NotImplementedError


class Builtin:
    """What ships with the package, found by walking the `parsers` and `rules` folders."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []

    @hookimpl
    def gpuverdict_parsers(self) -> list[Any]:
        return builtin_parsers(lambda module, error: self.problems.append((f"parsers/{module}.py", type(error).__name__)))

    @hookimpl
    def gpuverdict_rules(self) -> list[Rule]:
        from .. import rules as package

        found = []
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")):
            try:
                found.append(importlib.import_module(f"{package.__name__}.{module}").RULE)
            except Exception as error:
                self.problems.append((f"rules/{module}.py", type(error).__name__))
        return found


@dataclass
class Registry:
    """Everything that reads and judges, and what failed to load."""

    parsers: list[Parser | LineFormat] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    hardware: list[dict[str, Any]] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)  # (plugin, class of the error)


def load_registry(extra: tuple[object, ...] = ()) -> Registry:
    """Built-ins first, then installed plugins, then `extra` plugin objects (tests)."""
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    builtin = Builtin()
    registry = Registry(problems=builtin.problems)
    manager.register(builtin, "built-in")
    _load_installed(manager, registry)
    for number, plugin in enumerate(extra):
        manager.register(plugin, f"extra-{number}")
    parsers: dict[str, Any] = {}
    rules: dict[str, Rule] = {}
    for name, plugin in manager.list_name_plugin():
        parsers.update((p.name, p) for p in _call(plugin, "gpuverdict_parsers", name, registry))
        rules.update((r.id, r) for r in _call(plugin, "gpuverdict_rules", name, registry))
        registry.hardware += _call(plugin, "gpuverdict_hardware", name, registry)
    registry.parsers, registry.rules = list(parsers.values()), _ordered(rules)
    return registry


def _load_installed(manager: pluggy.PluginManager, registry: Registry) -> None:
    """One entry point at a time, so that one broken distribution does not hide the others."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            manager.register(point.load(), point.name)
        except Exception as error:
            registry.problems.append((point.name, f"did not load: {type(error).__name__}"))


def _call(plugin: object, hook: str, name: str, registry: Registry) -> list[Any]:
    """A hook of one plugin; a missing one gives nothing, a raising one a problem."""
    function = getattr(plugin, hook, None)
    if function is None:
        return []
    try:
        return list(function())
    except Exception as error:
        registry.problems.append((name, f"{hook} raised {type(error).__name__}"))
        return []


ORDER = [
    "turn-taking",
    "slot-queue",
    "memory-bound",
    "idle-starvation",
    "link-bandwidth",
    "link-latency",
    "compute-bound",
    "sm-bound",
    "throttled",
    "kv-pressure",
    "admission-stall",
    "imbalance",
    "context-growth",
    "host-bound",
    "client-limited",
    "confounded",
    "spinning",
]


def _ordered(rules: dict[str, Rule]) -> list[Rule]:
    """The order in which people ask: rules of the catalogue first, others after, thin evidence last."""
    rank = {name: number for number, name in enumerate(ORDER)}
    return sorted(rules.values(), key=lambda r: (r.id == "thin-evidence", rank.get(r.id, len(rank)), r.id))

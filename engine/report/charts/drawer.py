"""A process of its own that draws: altair takes 0.3 s to import, vl-convert 0.4 s to start, both under Python's lock, so that a thread
would not help. It starts while the files are read and gets each chart as soon as its data are known.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from .look import TITLES, Drawing, picture

READY = b"gpuverdict draws\n"
PATIENCE_S = 60  # for the start
_CHILD = f"import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from {__name__} import serve; serve()"


class Drawer:
    """Charts by name, drawn in the order of asking. Where no process can be had, it draws here. SVGs are the same either way."""

    def __init__(self, python: str | None = sys.executable) -> None:
        self._child = _started(python) if python else None
        self._lives = self._closed = False
        self._queue = ThreadPoolExecutor(1)
        self._asked: dict[str, Future[str]] = {}

    def ask(self, name: str, draw: Callable[[Any], Drawing], data: Any) -> None:
        """`draw`, a function of a module, gets `data`, which must not change any more. Does not wait."""
        self._asked[name] = self._queue.submit(self._svg, name, draw, data)

    def __contains__(self, name: str) -> bool:
        return name in self._asked

    def drawn(self) -> dict[str, str]:
        """Chart name -> SVG text in the order of TITLES, of all that were asked for. A chart that the process does not survive is left out."""
        texts = {name: self._asked[name].result() for name in TITLES if name in self._asked}
        return {name: svg for name, svg in texts.items() if svg}

    def close(self) -> None:
        """Ends the process at once, whatever it does."""
        self._closed = True
        if (child := self._child) is not None:
            child.kill()
        self._queue.shutdown(cancel_futures=True)
        self._end()

    def __enter__(self) -> Drawer:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _svg(self, name: str, draw: Callable[[Any], Drawing], data: Any) -> str:
        """Runs in the one thread of the queue: what waits for the process, and what it is sent, holds up nothing else."""
        if self._child is not None:
            try:
                return self._answered(self._child, pickle.dumps((name, draw, data), 5))
            except (OSError, EOFError):
                self._end()
        if self._lives or self._closed:
            return ""  # what ended the other process would end this one
        return picture(name, draw, data)

    def _answered(self, child: subprocess.Popen[bytes], question: bytes) -> str:
        assert child.stdin and child.stdout
        if not self._lives:
            _wait_for(child, child.stdout)
            self._lives = True
        child.stdin.write(question)
        child.stdin.flush()
        answer = json.loads(_line(child.stdout))
        if "problem" in answer:
            raise RuntimeError(answer["problem"])
        return str(answer["svg"])

    def _end(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            child.kill()
            with contextlib.suppress(OSError), child:  # closes the pipes and waits
                pass


def _started(python: str) -> subprocess.Popen[bytes] | None:
    """The process, told where this one finds its modules; -P: it looks for nothing in the folder of the user before that."""
    child = None
    with contextlib.suppress(OSError):
        child = subprocess.Popen([python, "-P", "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert child.stdin
        pickle.dump([str(place) for place in sys.path], child.stdin)
        child.stdin.flush()
    return child


def _wait_for(child: subprocess.Popen[bytes], stdout: IO[bytes]) -> None:
    """Until it says READY; before that, stdout has whatever the start of Python prints. A program that is no Python may say nothing."""
    timer = threading.Timer(PATIENCE_S, child.kill)
    timer.daemon = True
    timer.start()
    try:
        while _line(stdout) != READY:
            pass
    finally:
        timer.cancel()


def _line(stdout: IO[bytes]) -> bytes:
    line = stdout.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line


def serve() -> None:
    """What the process does: draws each (name, draw, data) that comes in until none comes any more."""
    import gc
    import traceback

    gc.disable()  # looking for garbage takes a sixth of altair's import, and the process lives but a second
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _warm()
    answers.write(b"\n" + READY)
    answers.flush()
    while True:
        try:
            name, draw, data = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = {"svg": picture(name, draw, data)}
        except Exception:
            answer = {"problem": traceback.format_exc()}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _warm() -> None:
    """Makes altair and vl-convert load what all charts need, and compile what they use, while there is nothing to draw yet."""
    os.environ["FONTCONFIG_FILE"] = str(Path(__file__).with_name("fonts.conf"))
    from . import sweep

    steps = [{"series": "", "c": c, "x": c, "r": 1.0, "n_eff": c, "decode": True, "slots_lo": 2.0, "slots_hi": 2.0} for c in (1.0, 4.0)]
    picture("sweep", sweep.draw, [{**step, "slots_origin": None} for step in steps])

"""Every tracked module and data file is in the wheel, and nothing else lies at its top level. Called by wheel_smoke.sh."""

import subprocess
import sys
import zipfile
from pathlib import Path


def main(wheel: str, root: str) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "gpuverdict", "engine", "parsers", "rules"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.split()
    wanted = {name if name.startswith("gpuverdict/") else f"gpuverdict/{name}" for name in tracked}
    held = set(zipfile.ZipFile(wheel).namelist())
    missing = sorted(wanted - held)
    assert not missing, f"not in the wheel: {missing}"
    top = {name.split("/")[0] for name in held}
    extra = {name for name in top if name != "gpuverdict" and not name.endswith(".dist-info")}
    assert not extra, f"at the top level of the wheel: {extra}"
    assert Path(wheel).stat().st_size > 0


if __name__ == "__main__":
    main(*sys.argv[1:3])

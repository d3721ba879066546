"""Makes a virtual environment with pip, in a second: `python tools/make_venv.py FOLDER`.

`python -m venv` has pip install itself and compile every module of it, of which a few are ever
imported; that takes as long as a tenth of the build. Here the wheel of pip that Python has is
unpacked, which is all that installing it comes to, and Python compiles what is imported.
Trade-off: there is no `bin/pip`, so it is `bin/python -m pip`; and where Python has its wheels is
not documented, so an environment is made the usual way where they are not found.

It says first what the machine lacks. Python 3.6 can read it, so that an old Python can be told.
"""

import os
import shutil
import sys
import sysconfig
import zipfile
from pathlib import Path

OLDEST = (3, 11)


def lack():
    """Return what is missing here for a build, in words; empty if nothing is."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        needs = f"Yantra needs Python 3.11 or newer; {sys.executable} is {found}"
        return f"{needs}. Try make PYTHON=python3.11"
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return "Python's venv module is missing; on Debian: apt-get install python3-venv"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers are missing; on Debian: apt-get install python3-dev"
    compiler = os.environ.get("CXX") or "g++"
    if shutil.which(compiler.split()[0]) is None:
        return f"no C++ compiler {compiler}; on Debian: apt-get install g++"
    return ""


def wheel_of_pip():
    """Return the wheel of pip that Python installs, None if it is not where it usually is."""
    import ensurepip

    folders = [Path(ensurepip.__file__).parent / "_bundled"]
    if getattr(ensurepip, "_WHEEL_PKG_DIR", None):  # a distribution keeps them elsewhere
        folders.insert(0, Path(ensurepip._WHEEL_PKG_DIR))
    return next((wheel for one in folders for wheel in sorted(one.glob("pip-*.whl"))), None)


def make(folder):
    """Make the environment; what else is in the folder stays, as with `python -m venv`.

    Its python comes after its pip: `make` takes an environment that has one as made, also if this
    was interrupted.
    """
    import venv

    wheel = wheel_of_pip()
    if wheel is not None:
        at = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(at)
    venv.EnvBuilder(symlinks=os.name != "nt", with_pip=wheel is None).create(folder)


if __name__ == "__main__":
    problem = lack()
    if problem:
        print(problem)
        sys.exit(2)
    make(Path(sys.argv[1]))

"""The command line: of `python -m odtc`, and of the command `odtc`."""

import _signal
import gc
import os
import sys

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until we hear it, Ctrl-C ends the process without a traceback

gc.set_threshold(200_000)  # new objects before Python looks for cycles among them: imports make 130,000 and drop none

if __name__ == "__main__" and not sys.flags.safe_path:
    try:
        sys.path[:] = sys.path[sys.path[:1] == [os.getcwd()] :]  # where -m looks first
    except OSError:  # the folder is gone, so Python has not named it
        pass
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path += [package] if package not in sys.path else []  # a checkout that is not installed

for number in range(3):  # a shell's >&- leaves none, and the next file that is opened would be the standard output
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)

from odtc.base import interrupts  # noqa: E402  nothing may be imported from the working directory

interrupts.hear(starting=True)

from odtc.base import system  # noqa: E402  what takes time is imported once a signal has its answer

if refused := system.prepare_address_space():
    os.write(2, f"odtc: error: {refused}\n".encode())
    os._exit(1)

from odtc.cli.app import program  # noqa: E402

if __name__ == "__main__":
    program()

"""Many model files by one driver of odtc in one process: `python -m tests.solvers.dialects.batch NAME`.

The jobs come as JSON on stdin. A job is [folder, the driver's arguments…]; its output goes to folder/log, and a line
on stdout says that it ended.
"""

import json
import os
import sys
from pathlib import Path
from unittest import mock

from odtc.solvers.drivers import __main__ as drivers


def main() -> None:
    name, out = sys.argv[1], os.dup(1)
    for folder, *words in json.load(sys.stdin):
        os.chdir(folder)
        log = os.open(Path(folder, "log"), os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1), os.dup2(log, 2)
        with mock.patch.object(sys, "argv", ["driver", name, *words]):
            try:
                drivers.main()
            except SystemExit:
                pass
        sys.stdout.flush()
        os.close(log)
        os.write(out, b"done\n")


if __name__ == "__main__":
    main()

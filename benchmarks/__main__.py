"""Run the benchmarks named on the command line, or all of them, one after the other."""

import sys

from benchmarks import recording, replaying, startup

BENCHMARKS = {"startup": startup.run, "recording": recording.run, "replaying": replaying.run}

if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(BENCHMARKS)}")
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()

"""Run the benchmarks named on the command line, or all of them, one after the other."""

import sys

from benchmarks import (
    aligning,
    assembling,
    chaos,
    cost,
    evaluating,
    grading,
    growing,
    hour,
    loading,
    month,
    pacing,
    recording,
    regrading,
    replaying,
    shim,
    startup,
    store_size,
    under_load,
)
from benchmarks.peers import NoPeer

BENCHMARKS = {
    "startup": startup.run,
    "recording": recording.run,
    "cost": cost.run,
    "under_load": under_load.run,
    "chaos": chaos.run,
    "hour": hour.run,
    "store_size": store_size.run,
    "shim": shim.run,
    "replaying": replaying.run,
    "growing": growing.run,
    "pacing": pacing.run,
    "loading": loading.run,
    "assembling": assembling.run,
    "evaluating": evaluating.run,
    "aligning": aligning.run,
    "month": month.run,
    "regrading": regrading.run,
    "linear": grading.linear,
    "grading": grading.against_inspect,
}

if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(BENCHMARKS)}")
    missing = []
    for name in sys.argv[1:] or BENCHMARKS:
        try:
            BENCHMARKS[name]()
        except NoPeer as error:
            print(f"{name}: NOT MEASURED. {error}")
            missing.append(name)
    if missing:
        sys.exit(f"not measured for want of a peer: {', '.join(missing)}")

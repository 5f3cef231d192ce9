"""Speed as ratios against a peer in the same run: `python -m benchmarks [NAME ..]`.

Figures depend on the machine and on what else it does; ratios of paired rounds much less so.
"""

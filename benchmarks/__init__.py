"""What the package promises to cost, measured as ratios within one run.

    python -m benchmarks                    every bench, a few minutes
    python -m benchmarks --quick pipeline   one of them, with fewer rounds
    python -m benchmarks.peers install      the packages that the pipeline is measured beside

Times are CPU seconds of the measured process: nothing that is measured waits for anything, and so a busy machine
changes the figures little. Whatever is compared is measured in turns, and the median counts.
"""

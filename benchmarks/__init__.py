"""Measures this project beside its peers: ``python -m benchmarks``, from the checkout.

Nothing here is imported by the package, and no test depends on a time.
"""

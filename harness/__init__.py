"""Cases, where they come from, how they are run and compared."""

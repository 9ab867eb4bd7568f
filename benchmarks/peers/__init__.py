"""The programs that are measured; each is run in a process of its own."""

"""``python -m opcheck``."""

from .cli.main import main

if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Print the newest Python that is 3.12 or newer, of those on the search path and those of pyenv; nothing if there is none.
set -euo pipefail
for candidate in python3.{20..12} $(ls -d ~/.pyenv/versions/3.*/bin/python3 2>/dev/null | sort -rV); do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit
    fi
done

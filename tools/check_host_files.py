"""Check the files that a public host reads against the schemas that check-jsonschema brings; exit with 1 if one is wrong."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES_OF = {
    "vendor.github-workflows": [".github/workflows/*.yml"],
    "custom.github-workflows-require-timeout": [".github/workflows/*.yml"],
    "vendor.dependabot": [".github/dependabot.yml"],
    "vendor.github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "vendor.github-issue-forms": [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/feature.yml"],
    "vendor.readthedocs": [".readthedocs.yaml"],
    "vendor.citation-file-format": ["CITATION.cff"],
}
"""Name of a built-in schema to patterns of the files that it is for."""


def check(schema, patterns):
    """Check files against one schema; return whether all are right."""
    files = [str(path) for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    force = ["--force-filetype", "yaml"] if schema.endswith("citation-file-format") else []
    command = [sys.executable, "-m", "check_jsonschema", "--no-cache", *force, "--builtin-schema", schema, *files]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{schema}:\n{done.stdout}{done.stderr}", file=sys.stderr)
    return done.returncode == 0


def main():
    """Check every file."""
    if importlib.util.find_spec("check_jsonschema") is None:
        print("files of the public host: not checked, check-jsonschema is not installed")
        return
    results = [check(schema, patterns) for schema, patterns in FILES_OF.items()]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()

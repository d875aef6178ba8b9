#!/usr/bin/env python3
"""validate_results.py PROGRAM SCHEMA: results that PROGRAM writes are valid, and broken ones are not (a schema that accepts
everything would pass the first half)."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed")
    sys.exit(77)

program, schema_path = sys.argv[1:3]
schema = json.loads(pathlib.Path(schema_path).read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)


def strict(node, at="$"):
    """Every object with named properties forbids others, so that a renamed key cannot slip through."""
    if isinstance(node, dict):
        if "properties" in node and node.get("additionalProperties") is not False:
            sys.exit(f"{at}: additionalProperties is not false")
        for key, value in node.items():
            strict(value, f"{at}.{key}")


strict(schema)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([program, folder], check=True)
    results = {p.name: json.loads(p.read_text()) for p in sorted(pathlib.Path(folder).iterdir())}
assert set(results) == {"full.json", "empty.json"}
for name, result in results.items():
    errors = list(validator.iter_errors(result))
    for error in errors:
        print(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
    if errors:
        sys.exit(1)


def broken(change):
    result = copy.deepcopy(results["full.json"])
    change(result)
    return not validator.is_valid(result)


assert broken(lambda r: r.update(extra=1))
assert broken(lambda r: r.pop("clock"))
assert broken(lambda r: r["phases"][0].update(watts=3.1))
assert broken(lambda r: r["phases"][0]["power"].update(coverage=1.5))
assert broken(lambda r: r["phases"][0]["watts"].update(u=-1))
assert broken(lambda r: r["phases"][0]["io"]["kinds"].update(append={}))
assert broken(lambda r: r.update(schema="wattrig.result/2"))
print("valid:", ", ".join(results))

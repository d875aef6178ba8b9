"""Checks every shipped suite against host/suites/suite.schema.json, and that the schema itself refuses what the loader refuses."""

import copy
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
import jsonschema

root = pathlib.Path(sys.argv[1])
schema = json.loads((root / "host/suites/suite.schema.json").read_text())
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
failed = False

suites = sorted((root / "host/suites/methods").glob("*.json"))
if len(suites) < 19:
    failed = True
    print(f"expected at least 19 suites, found {len(suites)}")
for path in [*suites, root / "tests/fuzz/seeds/suite_fuzz/all-keys.json"]:
    for error in validator.iter_errors(json.loads(path.read_text())):
        failed = True
        print(f"{path.name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")

good = json.loads((root / "host/suites/methods/quick.json").read_text())


def broken(change):
    suite = copy.deepcopy(good)
    change(suite)
    return suite


for name, change in {
    "unknown key": lambda s: s.update(dept=1),
    "unknown key in a step": lambda s: s["steps"][1].update(iodepth=1),
    "depth 0": lambda s: s["defaults"].update(depth=0),
    "no steps": lambda s: s.update(steps=[]),
    "size without unit": lambda s: s["defaults"].update(span="12"),
    "time as a number": lambda s: s["defaults"].update(runtime=60),
    "unknown pattern": lambda s: s["defaults"].update(pattern="randreed"),
    "unknown kind of step": lambda s: s["steps"][0].update(do="sleep"),
    "other format": lambda s: s.update(format="wattrig.suite/2"),
}.items():
    if validator.is_valid(broken(change)):
        failed = True
        print(f"the schema accepts: {name}")
sys.exit(1 if failed else 0)

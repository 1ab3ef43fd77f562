"""Checks the SBOMs of a release against the schema of CycloneDX that they name."""

import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

for name in sys.argv[1:]:
    text = Path(name).read_text()
    document = json.loads(text)
    error = JsonStrictValidator(SchemaVersion.from_version(document["specVersion"])).validate_str(text)
    if error or not document["components"]:
        sys.exit(f"{name}: {error or 'it lists no component'}")
    print(f"{name}: {len(document['components'])} components, as CycloneDX {document['specVersion']} says")

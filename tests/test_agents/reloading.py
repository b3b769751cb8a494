"""Objects through the form in which they are saved."""

import json
from typing import Any

from agents.objects import pack, unpack


def reloaded(value: Any) -> Any:
    """The object again, from its header as JSON text and its arrays."""
    arrays: dict[str, Any] = {}
    header = json.loads(json.dumps(pack(value, arrays)))
    return unpack(header, {key: array.copy() for key, array in arrays.items()}, type(value))

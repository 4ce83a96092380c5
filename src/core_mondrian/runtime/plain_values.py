"""Plain values, as JSON and TOML have them: the types that annotations use."""

from collections.abc import Mapping
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""Plain values by name: an object of JSON, or a table of TOML."""
JsonMapping: TypeAlias = Mapping[str, Any]
"""The same, to be read only."""

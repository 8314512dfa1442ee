"""The model zoo: `list_models()`, `create_model(name, word_types=V)`, `load_model(folder)`."""

from .errors import UserError
from .registry import create_model, get_entry, list_models, load_model

__all__ = ["UserError", "create_model", "get_entry", "list_models", "load_model"]

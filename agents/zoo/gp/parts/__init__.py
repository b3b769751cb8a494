"""What GP agents are made of: a model, a reward scale, a context view, a map of the actions."""

from agents.zoo.gp.parts.action_map import ActionSpaceMap
from agents.zoo.gp.parts.context_view import ContextView, context_columns
from agents.zoo.gp.parts.model import Acquisition, MakeAcquisition, Model, Prior, restored_posterior
from agents.zoo.gp.parts.normalisation import RewardNormalisation

__all__ = [
    "Acquisition",
    "ActionSpaceMap",
    "ContextView",
    "MakeAcquisition",
    "Model",
    "Prior",
    "RewardNormalisation",
    "context_columns",
    "restored_posterior",
]

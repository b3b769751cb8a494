"""What GP agents are made of: a model, a reward scale, a context view, a map of the actions."""

from agents.zoo.gp.parts.model import Acquisition, MakeAcquisition, Model, Prior, restored_posterior
from agents.zoo.gp.parts.notice import Notice
from agents.zoo.gp.parts.translation import (
    ActionSpaceMap,
    ContextView,
    RewardNormalisation,
    context_columns,
)

__all__ = [
    "Acquisition",
    "ActionSpaceMap",
    "ContextView",
    "MakeAcquisition",
    "Model",
    "Notice",
    "Prior",
    "RewardNormalisation",
    "context_columns",
    "restored_posterior",
]

"""The plan of each recipe that qops brings, on the hardware that it asks for."""

from collections.abc import Mapping

import serving_hosts as hosts

from qops.evidence.model import Models
from qops.plans.service import Options, ServicePlan, make
from qops.recipes import load
from qops.recipes.recipe import Recipe

RECIPES = load()
LIVE = [name for name, recipe in RECIPES.items() if not recipe.retired]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NONE = Options()


def host(recipe: Recipe) -> Mapping[type, object]:
    """The host that a recipe asks for, with its model in the store."""
    hardware = recipe.hardware
    if hardware.hardware_class == "spark":
        seen = hosts.spark()
    elif hardware.hardware_class == "rtx5090":
        seen = hosts.rtx5090()
    else:
        eight = hardware.gpus > 4 or max(recipe.gpus, default=0) > 3
        seen = hosts.rtxpro(8, sockets=2) if eight else hosts.rtxpro(4)
    model = recipe.model
    stored = hosts.stored(model.repository, model.revision or COMMIT, 24 * 10**9, overlay=bool(model.overlays))
    return {**seen, Models: stored}


def plan(name: str, options: Options = NONE) -> ServicePlan:
    """The plan of one recipe."""
    recipe = RECIPES[name]
    return make(recipe, host(recipe), hosts.hardware(recipe.hardware.hardware_class), options)

"""Recipes: which checkpoint is served by which engine, in which image, on which machine, with which options."""

from qops.recipes.library import beside, load, one
from qops.recipes.recipe import Recipe

__all__ = ["Recipe", "beside", "load", "one"]

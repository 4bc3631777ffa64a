"""Made-up results of the study of classes: urgent jobs end sooner, later, or neither."""

import made_groups

from experiments.priorities.report import PERCENTS, Results, Share


def made_study(seed, strength):
    """Return the study: at strength 1 urgent jobs end sooner and the others later; -1 reverses it, 0 is chance."""
    return made_groups.made_study(
        Results, [Share(percent) for percent in PERCENTS], lambda share: 0.4, seed=seed, strength=-strength
    )

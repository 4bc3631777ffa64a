"""Made-up results of the study of classes: urgent jobs end sooner, later, or neither."""

import made_groups

from experiments.priorities.report import PERCENTS, Results, Share


def made_study(seed, strength):
    """Return the study; of strength 1 urgent jobs end sooner, the others later, of -1 the reverse, of 0 by chance."""
    return made_groups.made_study(
        Results, [Share(percent) for percent in PERCENTS], lambda share: 0.4, seed=seed, strength=-strength
    )

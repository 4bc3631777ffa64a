"""Made-up results of the study of conditional backfilling: the asked jobs end later, sooner, or neither."""

import made_groups

from experiments.conditional.results import NOTICES, PERCENTS, Asking, Results


def made_study(seed, strength):
    """Return the study: at strength 1 the asked jobs end later and the others sooner; -1 reverses it, 0 is chance."""
    settings = [Asking(percent, notice) for percent in PERCENTS for notice in NOTICES]
    return made_groups.made_study(
        Results, settings, lambda asking: 0.2 + asking.notice / 36000, seed=seed, strength=strength
    )

"""A plan, a list, predictions and schedules, for tests of how a notebook shows them."""

from pathlib import Path

import numpy as np
from four_jobs import HONEST

import gas
from gas.agent.values import application_of
from gas.prediction.choice import PredictedPlan, Prediction
from gas.prediction.forecast import Forecast

NOW = 1_800_000_000
EXAMPLES = Path(__file__).parent / "examples"

LIST = gas.read_availability(EXAMPLES / "cluster.json")
PLAN = gas.plan(EXAMPLES / "ocean.toml", LIST)
PREDICTION = Prediction(NOW + 100, NOW + 900, NOW, NOW + 500, NOW + 1500)
PREDICTED = PredictedPlan(
    PLAN.application, PLAN.algorithm, PLAN.now, PLAN.best, PLAN.candidates, PLAN.rejected, PLAN.lists,
    planned=PLAN, predictions={PLAN.best: PREDICTION},
)  # fmt: skip
FORECAST = Forecast(
    NOW, np.full(3, NOW + 9000), NOW + np.arange(300).reshape(100, 3) * 20, np.array([60, 120, 180]), np.ones(3, bool)
)
SCHEDULE = HONEST

ALL = {
    "plan": PLAN, "predicted plan": PREDICTED, "list": LIST, "prediction": PREDICTION, "forecast": FORECAST,
    "schedule": SCHEDULE,
}  # fmt: skip

IMPOSSIBLE = gas.plan({4096: "1h"}, LIST)

HOSTILE = '<script>alert("1")</script>&'
HOSTILE_PLAN = gas.plan(application_of({4: "1h"}), gas.AvailabilityList.of([NOW, NOW + 60], [4, 8], scheduler=HOSTILE))

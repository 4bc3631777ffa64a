"""The package's public names are there, without importing for everybody what only some of them need."""

import subprocess
import sys

import pytest


def of_new_process(*lines):
    code = "; ".join(lines)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("before", ["pass", "import gas.simulation.simulate", "import gas.simulation.engine"])
def test_simulate_is_the_function_whatever_was_imported_before(before):
    asked = "from gas.simulation import NOT_CANCELLED, Reservation, Schedule, Simulation, simulate"
    told = of_new_process(
        before,
        asked,
        "from gas.simulation.simulate import simulate as same",
        "import gas.simulation",
        "print(simulate is same is gas.simulation.simulate, Simulation.__name__, Reservation(0, 1, 2, 3).walltime)",
    )
    assert told == ["True", "Simulation", "3"]


def test_the_package_itself_imports_nothing_heavy():
    assert of_new_process("import sys, gas.simulation", "print('numpy' in sys.modules)") == ["False"]


def test_other_names_are_not_there():
    import gas.simulation

    with pytest.raises(AttributeError, match="No gas.simulation attribute simulated"):
        gas.simulation.simulated  # noqa: B018

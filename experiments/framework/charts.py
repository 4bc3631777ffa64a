"""Pictures of studies as SVG, byte for byte reproducible."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from documents.extras import way_to_install
from gas.errors import Missing
from gas.pictures.canvas import fix_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREEN", "ORANGE", "PINK", "SKY", "YELLOW", "as_svg", "plain"]

# Okabe and Ito's palette, distinct with any kind of colour vision.
BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
GREEN: Final = "#009E73"
PINK: Final = "#CC79A7"
YELLOW: Final = "#E69F00"
SKY: Final = "#56B4E9"


def as_svg(size: tuple[float, float], draw: Callable[[Figure], None]) -> bytes:
    """Return a figure of a size (inches) as SVG, byte for byte reproducible."""
    try:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
        from matplotlib.style import context
    except ImportError:
        raise Missing(f"pictures need matplotlib: {way_to_install('plot')}") from None
    # Matplotlib's own style, not the user's, so that pictures are the same everywhere.
    style = {"svg.hashsalt": "gas experiment", "font.size": 10, "figure.constrained_layout.w_pad": 0.1}
    with context(["default", style]):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        fix_layout(figure)
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def plain(*panels: Axes) -> None:
    """Give panels a light grid behind the data, and no frame at the top and on the right."""
    for axes in panels:
        axes.grid(True, color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)

"""Pictures: what a scheduler has free, what the planner chose, and how well a speed-up model fits.

    terminal   availability as block characters in a terminal, and what all pictures share: which stretch of time is
               worth showing, round time steps, and the least that is free in each column
    plan       a plan, or an availability list alone, as PNG, SVG or PDF (matplotlib)
    fit        measured execution times and the model fitted to them (matplotlib)

Pictures only show: whatever they say comes from the plan, the list or the fit that they are given. matplotlib is
imported when a file is drawn, never before.
"""

"""Pictures: what a scheduler has free, what the planner chose, and how well a speed-up model fits.

    terminal   availability as block characters in a terminal, and what all pictures share: which stretch of time is
               worth showing, round time steps, and the least that is free in each column
    plan       a plan, or an availability list alone, as PNG, SVG or PDF (matplotlib)
    fit        measured execution times and the model fitted to them (matplotlib)
    front      time of a run against its cost, by size and layout (matplotlib)
    run_times  cumulative distributions of run times by size, logs and models side by side (matplotlib)

and of simulations, all with matplotlib:

    simulation       schedules of one log in one picture, made of the next three
    schedule_gantt   a window of a schedule as a Gantt chart
    machine_use      free processors, queue length and queued work over time
    distributions    cumulative distributions of wait, response time and bounded slowdown
    backtest         predicted and recorded waits of a log, and of classes of its jobs
    dates            axes of dates in a log's time zone
    canvas           their style, colours, headings and feet, and how a figure becomes a file

Pictures only show: whatever they say comes from the plan, list, fit or schedule that they are given. matplotlib is
imported when a file is drawn, never before.
"""

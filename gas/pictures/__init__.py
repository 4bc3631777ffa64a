"""Pictures of free processors, of plans, of fitted speed-up models and of simulations.

    terminal   availability as block characters in a terminal, and the code that all pictures share: the time range
               worth showing, round time steps, and the fewest free processors in each column
    plan       a plan, or an availability list alone, as PNG, SVG or PDF (matplotlib)
    fit        measured execution times and the model fitted to them (matplotlib)
    front      run time against cost, by size and layout (matplotlib)
    run_times  cumulative distributions of run times by size, logs and models side by side (matplotlib)

Pictures of simulations, all with matplotlib:

    simulation       schedules of one log in one picture, composed of the next three
    schedule_gantt   a time window of a schedule as a Gantt chart
    machine_use      free processors, queue length and queued work over time
    distributions    cumulative distributions of wait, response time and bounded slowdown
    backtest         predicted and recorded waits of a log, and of classes of its jobs
    dates            date axes in a log's time zone
    canvas           common style, colours, titles and footers, and writing a figure to a file

Pictures compute nothing: everything they show comes from the plan, list, fit or schedule that they get. matplotlib is
imported only when a file is drawn.
"""

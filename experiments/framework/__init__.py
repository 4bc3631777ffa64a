"""The parts that all studies share. Imports no study.

logs          the logs in a folder, with the machine and the rules under which each is simulated
files         logs that a user names, in any format
sites         the machines of Cirne & Berman, and the months of their logs
ledger        keeps the results of runs, so that an interrupted study continues and no run is computed twice
dependencies  what the result of a run depends on: imported modules, data, versions of libraries
compiling     compiles the simulator once, before worker processes start
results       the runs of a study with their results
groups        a share of the jobs treated differently: results of these jobs and of the others
group_results, group_picture
              changes by group, as table columns and as bars
claims        claims, and whether they hold
verdicts      the one rule that decides from intervals whether a claim holds
items         where each table and figure of a paper is found, and how close our figures are
columns       tables defined by their columns: the title of each, and its value for a row
method        the text `method.md` next to a study, as a section of its report
origin        how a report was made, so that it can be reproduced
charts        pictures as SVG
records       tables of results as CSV and Parquet, with a dictionary of their columns
cost          time and memory of a study
console       progress and verdicts of a study on the terminal
study         a study as a value; finds its logs, computes its runs, writes its report
execution     computes all runs, or a part of them, in processes or with Dask
options       the options that all studies share
"""

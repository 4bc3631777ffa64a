"""What studies share, whatever they study. Imports no study.

logs          which logs there are in a folder, and on which machine and terms they are simulated
files         logs in files that a user names, in any format
sites         machines of the Gas paper, and months of their logs
ledger        results of runs, kept: interrupted studies go on, and nothing is computed twice
dependencies  what computing a result depends on: modules reached by imports, data, libraries
cluster       Dask workers in place of processes
compiling     the simulator is compiled once, before worker processes start
results       what came of a study: runs, and their results
groups        a share of the jobs treated otherwise: what becomes of it and of the others
group_results, group_picture
              what is made of that: changes by group, columns of tables, bars
claims        statements and whether they hold
verdicts      whether a statement holds, where intervals decide: the one rule
items         where each table and figure of a paper is, and how near ours are
columns       tables by their columns: the title of each, and what it shows of a row
method        how a study was done, from the text beside it
origin        what made a report, so that it can be made again
charts        pictures as SVG
records       tables of results as CSV and Parquet, and what their columns mean
cost          what a study took in time and memory
console       what studies say on the terminal: how far they are, and which statements hold
study         a study as a value, and what is done with it: find logs, compute, write
execution     computing its runs: by processes or Dask, all of them or a part
options       options that all studies share
"""

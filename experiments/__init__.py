"""Studies on logs and models. The command line finds them by the entry points `gas.commands`; no package imports them.

    cli        the commands ``gas experiment …``
    framework  the parts that all studies share: kept results, logs, claims, reports
    published  figures from papers, as data files
    moldable   moldable jobs that replace jobs of a log, and months of logs with one such job at a time

Each other package is a study. No study imports another study; code that several studies need is in `moldable` or
`framework`.

    backfilling     EASY and conservative backfilling (Mu'alem & Feitelson 2001)
    estimates       errors in users' estimates, and their effects (section 4 of the same paper)
    walltime        walltimes adjusted by the history of similar jobs (Tang et al. 2013)
    power           one moldable job in a log, compared with a static request (Cirne & Berman, section 5.2)
    setups          the set-ups that may reproduce the tables of section 5.2
    bushel          many moldable jobs at once, and their effect on the other jobs (section 5.3)
    walk            the paper's search for a request, compared with the exact planner (Fig. 4.3)
    accuracy        how accurate a performance model must be (section 6.1)
    supercomputers  moldable jobs that choose among several supercomputers (section 6.2)
    conditional     conditional backfilling: S³ asks before it moves a job to an earlier start (section 6.1)
    priorities      priority classes of jobs under promised starts (section 6.1)
    clusters        applications that choose among few or many of hundreds of clusters
    prediction      predicted waits, and requests that are chosen by them
    malleate        moldable jobs (size chosen before they start) compared with malleable jobs (size changed while they
                    run)
    replay          a user's own log under other policies, machines and walltimes (``gas replay``)
"""

"""Studies on logs and models. The command line finds them by the entry points `gas.commands`; nothing imports them.

    cli        the commands ``gas experiment …``
    framework  the framework of all studies: kept results, logs, statements, reports
    published  figures of the literature, as data files
    moldable   moldable jobs in place of jobs of a log, and months of logs with one of them at a time

Each of the others is a study. None imports another's package; what two of them need is in `moldable` or `framework`.

    backfilling     EASY and conservative backfilling (Mu'alem & Feitelson 2001)
    estimates       inaccurate estimates of users, and their effect (section 4 of the same paper)
    walltime        walltimes adjusted by history (Tang et al. 2013)
    power           one moldable job in a log, compared with a static request (Cirne & Berman, section 5.2)
    setups          the set-ups that may reproduce the tables of that section
    bushel          many moldable jobs at once, and their effect on all other jobs (section 5.3)
    walk            the paper's search for a request, compared with the exact planner (Fig. 4.3)
    accuracy        the accuracy that a performance model needs (section 6.1)
    supercomputers  several supercomputers (section 6.2)
    conditional     conditional backfilling: jobs are asked before they move to earlier starts (section 6.1)
    priorities      priority classes whose promises hold (section 6.1)
    clusters        hundreds of clusters, and how many of them to consider
    prediction      predictions of waits, and requests chosen by them
    malleate        moldable jobs, sized before they start, compared with malleable jobs, resized while they run
    replay          a user's own log under other policies, machines and walltimes (``gas replay``)
"""

"""Gas for login nodes: one executable file that brings its own interpreter, and a folder of wheels for pip offline.

``python -m gas.bundle executable FILE`` and ``python -m gas.bundle wheelhouse FOLDER``, from a checkout.

Its modules:

    __main__     the two commands
    contents     what goes into the one file: interpreter, standard library, packages
    executable   packs it, behind a shell script that unpacks it once
    start        what runs first inside it
    wheelhouse   wheels of Gas and of all that it needs, for one version of Python

`unpack.sh` beside them is that script. The interpreter is the one of the package ``freeze-core`` (extra ``bundle``): it
is linked for Linux with glibc 2.17 and later, as are the wheels.
"""

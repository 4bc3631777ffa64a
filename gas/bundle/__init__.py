"""Gas for login nodes: one executable file that contains its own interpreter, and a folder of wheels for offline pip.

``python -m gas.bundle executable FILE`` and ``python -m gas.bundle wheelhouse FOLDER``, from a checkout.

Its modules:

    __main__     the two commands
    contents     the contents of the file: interpreter, standard library, packages
    executable   packs them behind a shell script that unpacks them once
    start        the first code that runs inside the file
    wheelhouse   collects wheels of Gas and its dependencies, for one version of Python

`unpack.sh` in the same folder is the shell script. The interpreter comes from the package ``freeze-core`` (extra
``bundle``); like the wheels, it runs on Linux with glibc 2.17 and later.
"""

"""What people write and programs keep: documents that are read strictly, and files that are written whole.

    fields      reading one table of a TOML or JSON document key by key; what cannot be used, and how that is said
    home        where a user's own files are
    extras      how an optional part is installed that is missing
    whole_file  a file that is written whole or not at all

The ground of all other packages: it imports none of them.
"""

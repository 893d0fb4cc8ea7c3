"""`make golden COMMIT=…`: the same cases in this tree and in another commit of it, compared bit by bit.

`cases` says what is run, `fits`, `sites` and `commands` run it, `worker` is one process in one tree, `adapter` is the
only file that knows module paths of the package, `compare` finds what differs, and `__main__` starts it all.
"""

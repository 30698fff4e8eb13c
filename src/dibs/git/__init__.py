"""Git as a technology: how it is started, what its answers look like, what of a repository could run code.

Nothing here knows a rule of Dibs. ``run`` is the one module that starts git processes.
"""

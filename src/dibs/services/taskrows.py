"""The rows of the board in one transaction, typed; decides nothing.

- ``task/<id>``: a task that is not archived: its file's text, its place, and who works on it
- ``version/<id>``: the number of the task's last change, for readers that look for what changed
- ``board``: the number of the last change of any task
- ``ready/<who>/<rank>/<created>/<id>``: a task that can be taken now by ``@NAME``, or by anybody (``*``)
- ``needs/<dependency>/<id>``: that a task waits for another one
- ``busy/<id>``: an attempt that runs: who, with which token
- ``past/<id>``: how an archived task ended, and in which month; looked up, never walked through
"""

"""Tasks as YAML text: read leniently, written strictly, edited in place.

``reading.read`` accepts every spelling that people use and returns one ``Task``; ``writing.edit`` changes the
given keys of a text and leaves every other byte alone; ``writing.render`` writes a new file.
"""

"""Tasks as YAML text: read with tolerance, written strictly, edited without touching what is not ours.

``reading.read`` takes any spelling that people use and gives one ``Task``; ``writing.edit`` changes named
keys of a text and leaves every other byte as it is; ``writing.render`` writes a new file.
"""

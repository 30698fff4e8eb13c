"""The board on disk: folders of YAML files, read and written so that a crash leaves the old or the new."""

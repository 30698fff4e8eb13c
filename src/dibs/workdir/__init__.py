"""The board on disk: folders of YAML files, written so that a crash leaves either the old or the new file."""

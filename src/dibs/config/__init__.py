"""Settings: the table of fields, where each value comes from, and the parsed files of earlier calls."""

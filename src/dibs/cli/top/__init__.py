"""The live terminal view of ``dibs top``, with Textual (the extra ``top``)."""

"""HTTP below the routes: matching, strict decoding, cursors, repeated requests, and answers."""
